"""People, invitations and tokens."""

from collections.abc import AsyncIterator, Iterable
from typing import Literal

from cognireview.client.dual_methods import Area, B, call, stream
from cognireview.types import operations
from cognireview.types.leading import Workload
from cognireview.types.people import Invitation, Invitee, NewInvitation, NewToken, Person, Role, Scope, Token


class People(Area[B]):
    """The people of the site, for admins."""

    @stream
    async def all(
        self, q: str = "", *, role: Role | None = None, state: Literal["active", "inactive"] | None = None
    ) -> AsyncIterator[Person]:
        """Yield people by username, perhaps those with some words in their names or addresses."""
        query = {"q": q, "role": role, "state": state}
        async for page in self._transport.pages(operations.PEOPLE, query):
            for person in page.people:
                yield person

    @call
    async def get(self, username: str) -> Person:
        """Return a person."""
        return await self._transport.send(operations.PERSON, username=username)

    @call
    async def change_role(self, username: str, role: Role) -> Person:
        """Give a person a role. A token that allows less than the role cannot do that."""
        return await self._transport.send(operations.CHANGE_ROLE, body={"role": role}, username=username)

    @call
    async def deactivate(self, username: str) -> Person:
        """Deactivate an account, and revoke its tokens."""
        return await self._transport.send(operations.DEACTIVATE, username=username)

    @call
    async def reactivate(self, username: str) -> Person:
        """Reactivate an account."""
        return await self._transport.send(operations.REACTIVATE, username=username)

    @stream
    def workloads(self) -> AsyncIterator[Workload]:
        """Yield the assigned records and the pace of everybody, for leads."""
        return self._rows(operations.WORKLOADS)


class Invitations(Area[B]):
    """Invitations to the site, for admins."""

    @stream
    def all(self) -> AsyncIterator[Invitation]:
        """Yield the pending invitations and password links."""
        return self._rows(operations.INVITATIONS)

    @call
    async def invite(self, people: Iterable[Invitee]) -> list[NewInvitation]:
        """Invite people, and return the address for each. No e-mail is sent."""
        return await self._transport.send(operations.INVITE, body={"people": [*people]})

    @call
    async def renew(self, invitation_id: int) -> NewInvitation:
        """Replace an invitation by one with a new link and expiry date."""
        return await self._transport.send(operations.RENEW_INVITATION, link_id=invitation_id)

    @call
    async def withdraw(self, invitation_id: int) -> None:
        """Withdraw an invitation."""
        await self._transport.send(operations.WITHDRAW_INVITATION, link_id=invitation_id)


class Tokens(Area[B]):
    """The tokens of the owner of the client's token."""

    @stream
    def all(self) -> AsyncIterator[Token]:
        """Yield your tokens, the newest first."""
        return self._rows(operations.TOKENS)

    @call
    async def own(self) -> Token:
        """Return the token that the client sends, with the scopes that the role of its owner allows."""
        return await self._transport.send(operations.OWN_TOKEN)

    @call
    async def create(self, name: str, scopes: Iterable[Scope], *, days: int = 1) -> NewToken:
        """Create a token that allows less than the one that the client sends, and ends with it."""
        body = {"name": name, "scopes": [*scopes], "days": days}
        return await self._transport.send(operations.CREATE_TOKEN, body=body)

    @call
    async def revoke(self, token_id: int) -> None:
        """Revoke a token."""
        await self._transport.send(operations.REVOKE_TOKEN, token_id=token_id)
