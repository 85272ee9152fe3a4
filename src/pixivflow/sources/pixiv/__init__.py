"""Pixiv through its app API: one account, one gate, one token chain. Start with `source.PixivSource`."""
