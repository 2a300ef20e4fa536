import { useQueryClient } from '@tanstack/react-query';
import { type ListedInvitation, listInvitations, renewInvitation, revokeInvitation } from '@baton/sdk/people';
import type { Administration } from '../administration/admin-secret.ts';
import { Act, Line, List } from '../administration/Section.tsx';
import { baton } from '../client.ts';
import { Moment } from '../parts/Moment.tsx';
import type { MailedInvitation } from './InvitationLink.tsx';
import { withMail } from './InviteDialog.tsx';

interface InvitationsProps {
  readonly administration: Administration;
  /** Shows the link of an invitation, once. */
  onLink(invited: MailedInvitation): void;
  /** Whether this person may make and revoke links. */
  readonly mayWrite: boolean;
}

/** Open invitations and recovery links. */
export function Invitations({ administration, mayWrite, onLink }: InvitationsProps) {
  const queries = useQueryClient();
  async function renew(invitation: ListedInvitation) {
    onLink(await withMail(await renewInvitation(baton, administration, invitation)));
    void queries.invalidateQueries({ queryKey: ['administration'] });
  }
  return (
    <section className="stack" aria-labelledby="invitations">
      <h2 id="invitations">Open invitations</h2>
      <List
        name={['invitations']}
        empty="No open invitations."
        read={(after, signal) =>
          listInvitations(
            baton,
            administration,
            { status: 'open', ...(after !== undefined && { cursor: after }) },
            { signal },
          ).then(({ items, nextCursor }) => ({ items, next: nextCursor ?? undefined }))
        }
      >
        {(invitation) => (
          <Line
            key={invitation.id}
            title={invitation.displayName}
            facts={factsOf(invitation)}
            acts={
              mayWrite && (
                <>
                  {invitation.kind === 'invitation' && (
                    <Act
                      label={invitation.coordinationPrincipalId === null ? 'Complete' : 'New link'}
                      act={() => renew(invitation)}
                    />
                  )}
                  <Act
                    label="Revoke"
                    confirm="why"
                    act={(why) =>
                      revokeInvitation(baton, administration, invitation, why === '' ? undefined : why)
                    }
                  />
                </>
              )
            }
          />
        )}
      </List>
    </section>
  );
}

function factsOf(invitation: ListedInvitation) {
  const { kind, accessRole, role, email, invitedBy, expiresAt, coordinationPrincipalId } = invitation;
  return [
    <>
      {kind === 'recovery' ? 'recovery link' : (accessRole ?? role)}
      {email !== null && ` · ${email}`}
    </>,
    <>
      {invitedBy !== '' && `by ${invitedBy} · `}expires <Moment at={expiresAt} />
      {kind === 'invitation' && coordinationPrincipalId === null && ' · not complete: has no access here yet'}
    </>,
  ];
}
