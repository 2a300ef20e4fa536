export { type ListedInvitation, listInvitations, revokeInvitation } from './people/invitations.ts';
export { InviteFailure } from './people/invite-failure.ts';
export {
  type Invited,
  invitationLink,
  invitePerson,
  mailInvitation,
  type NewInvite,
  renewInvitation,
} from './people/invite-person.ts';
export {
  listJoinedPeople,
  type PeopleQuery,
  type PeopleSources,
  readJoinedPerson,
} from './people/joined-people.ts';
export type { IdentityAdministration, JoinedPerson, PersonKind, PersonState } from './people/person-state.ts';
