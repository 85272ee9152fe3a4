"""Words of the invented world: tags with and without translations, titles plain and awkward, names, sentences.

The awkward ones repeat what users of such tools reported as trouble: slashes, colons, reserved names, emoji of
several code points, titles longer than a file system allows, characters that need escaping in XML.
"""

from __future__ import annotations

from typing import Final

TAGS: Final[tuple[tuple[str, str | None], ...]] = (
    ("オリジナル", "original"),
    ("風景", "scenery"),
    ("女の子", "girl"),
    ("青空", "blue sky"),
    ("猫", "cat"),
    ("桜", "cherry blossoms"),
    ("夜景", None),
    ("制服", "uniform"),
    ("ファンタジー", "fantasy"),
    ("ドラゴン", "dragon"),
    ("夏", "summer"),
    ("冬", None),
    ("初音ミク", "Hatsune Miku"),
    ("落書き", "doodle"),
    ("背景", "background"),
    ("海", "sea"),
    ("メイド", "maid"),
    ("水彩", None),
    ("ロボット", "robot"),
    ("花", "flower"),
)
AWKWARD_TAGS: Final[tuple[str, ...]] = (
    "Fate/GrandOrder",
    "16:9",
    "..",
    "CON",
    "AUX.txt",
    "a\\b",
    "C++",
    "100%",
    "#タグ",
)
POPULAR_TAGS: Final[tuple[str, ...]] = ("オリジナル1000users入り", "オリジナル5000users入り")
AI_TAG: Final = ("AI生成", "AI-generated")
RATING_TAGS: Final[dict[int, str]] = {1: "R-18", 2: "R-18G"}
UGOIRA_TAG: Final = ("うごイラ", "ugoira")
MANGA_TAG: Final = ("漫画", "manga")
NOVEL_TAGS: Final[tuple[tuple[str, str | None], ...]] = (
    ("小説", "novel"),
    ("百合", "yuri"),
    ("恋愛", "romance"),
    ("ファンタジー", "fantasy"),
    ("日常", None),
    ("ホラー", "horror"),
)

TITLES: Final[tuple[str, ...]] = (
    "朝の光",
    "雨上がりの街",
    "Sky garden",
    "星を数える夜",
    "午後三時",
    "帰り道",
    "Little harbor",
    "夏の終わり",
    "海辺の駅",
    "花と風",
    "Night train",
    "静かな図書室",
    "雪の朝",
    "坂の上の家",
    "Paper boat",
    "灯台",
    "秋桜",
    "青い傘",
    "屋上にて",
    "Good morning",
)
AWKWARD_TITLES: Final[tuple[str, ...]] = (
    "表/裏: A\\B",
    "花 & 穹 <1>",
    "あ" * 120 + "👨‍👩‍👧‍👦" * 20,
    'quote "inside" ]]> end',
    "CON",
    "  spaces and dots...  ",
    "🎨✨絵文字🌸",
    "100% | what? *really*",
    "..",
    "tab\tand\nline",
)

USER_NAMES: Final[tuple[str, ...]] = (
    "Aoi@C107 東A-12b",
    "mizuki",
    "空色ノート",
    "Kaede/楓",
    "R.Tanaka",
    "紙飛行機🛩",
    "hinata_07",
    "宵待",
    "Momo",
    "灰色の猫",
    "K",
    "Studio <Blue>",
)

SENTENCES: Final[dict[str, tuple[str, ...]]] = {
    "ja": (
        "駅を出ると、雨はもう上がっていた。",
        "彼女は窓の外を見たまま、小さく笑った。",
        "古い時計が三時を打つ。",
        "風が花の匂いを運んでくる。",
        "その夜、街には灯りがひとつもなかった。",
        "手紙の封はまだ切られていない。",
    ),
    "zh": (
        "走出车站的时候，雨已经停了。",  # noqa: RUF001 - Chinese punctuation
        "她望着窗外，轻轻地笑了。",  # noqa: RUF001 - Chinese punctuation
        "旧钟敲了三下。",
        "风把花香送了过来。",
        "那天夜里，城里没有一盏灯。",  # noqa: RUF001 - Chinese punctuation
    ),
    "en": (
        "The rain had stopped before she left the station.",
        "Nobody had opened the letter yet.",
        "An old clock struck three.",
        "The wind carried the smell of flowers & salt.",
        "That night there was not a single lamp in the town.",
    ),
}
CAPTIONS: Final[tuple[str, ...]] = (
    "",
    "よろしくお願いします。",
    'Thank you for looking!<br />More: <a href="https://example.test/?a=1&amp;b=2" target="_blank">site</a>',
    "描き直しました。<br />ご感想お待ちしています &amp; ありがとう",
)
TOOLS: Final[tuple[tuple[str, ...], ...]] = ((), ("CLIP STUDIO PAINT",), ("Photoshop", "SAI"))
