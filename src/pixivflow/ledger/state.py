"""What an account must remember over restarts: its tokens and its gate."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import Any, TypeVar

from pixivflow.ledger.ports import Ledger, Tx
from pixivflow.ledger.rows import dump, load
from pixivflow.sources.ports import AccountTokens, GateState

S = TypeVar("S", AccountTokens, GateState)


class LedgerAccountStore:
    """`sources.ports.AccountStore` for one account on the ledger."""

    def __init__(self, ledger: Ledger, account: str) -> None:
        self._ledger = ledger
        self._account = account

    async def load_tokens(self) -> AccountTokens:
        """What is stored, or empty tokens."""
        return _restore(AccountTokens, await self._get("tokens"))

    async def save_tokens(self, tokens: AccountTokens) -> None:
        """Store; returns after the commit."""
        await self._put("account_state_tokens", "tokens", asdict(tokens))

    async def load_gate(self) -> GateState:
        """What is stored, or a fresh state."""
        return _restore(GateState, await self._get("gate"))

    async def save_gate(self, state: GateState) -> None:
        """Store; returns after the commit."""
        await self._put("account_state_gate", "gate", asdict(state))

    async def _get(self, column: str) -> dict[str, Any]:
        row = await self._ledger.read(lambda tx: tx.one("account_state_get", {"account": self._account}))
        value = load(row[column]) if row else None
        return value if isinstance(value, dict) else {}

    async def _put(self, statement: str, column: str, value: dict[str, Any]) -> None:
        text = dump(value)

        def put(tx: Tx) -> None:
            tx.run(statement, {"account": self._account, column: text, "now": tx.now})

        await self._ledger.write(put)


def _restore(kind: type[S], stored: dict[str, Any]) -> S:
    """Read back what this or an earlier version stored; fields it does not know are left out."""
    names = {field.name for field in fields(kind)}
    return kind(**{name: value for name, value in stored.items() if name in names})
