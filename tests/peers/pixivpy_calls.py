"""Run by the peers' own Python: one call of stock pixivpy3 after another, the answers as one JSON document on stdout.

Arguments: proxy address, CA file, and a JSON object with the ids to ask for.
"""

import json
import sys

from pixivpy3 import AppPixivAPI


def main(proxy: str, ca_file: str, wanted: dict) -> None:
    api = AppPixivAPI(proxies={"https": proxy}, verify=ca_file)
    api.auth(refresh_token="invented-token")
    answers = {
        "user_id": api.user_id,
        "search": api.search_illust(wanted["tag"], search_target="exact_match_for_tags"),
        "ranking": api.illust_ranking("day", date="2026-02-27"),
        "detail": api.illust_detail(wanted["illust"]),
        "ugoira": api.ugoira_metadata(wanted["ugoira"]),
        "novel": api.webview_novel(wanted["novel"]),
        "missing": api.illust_detail(1),
        "user": api.user_illusts(wanted["user"]),
    }
    page = answers["detail"]["illust"]
    url = page["meta_single_page"]["original_image_url"]
    api.download(url, path=".", name="original")
    json.dump(answers, sys.stdout, default=dict)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], json.loads(sys.argv[3]))
