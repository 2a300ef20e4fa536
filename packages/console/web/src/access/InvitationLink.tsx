import { useState } from 'react';
import { type Invited, invitationLink } from '@baton/sdk/people';
import styles from '../administration/administration.module.css';
import { Instant } from '../parts/Moment.tsx';

export interface MailedInvitation extends Invited {
  /** Whether Baton sends the link by e-mail. */
  readonly isMailed: boolean;
}

/** The link of an invitation, which is shown once. Only this page has it. */
export function InvitationLink({
  invited: { invitation, token, isMailed },
  onDone,
}: {
  invited: MailedInvitation;
  onDone: () => void;
}) {
  const [isCopied, setCopied] = useState(false);
  const link = invitationLink(location.origin, token);
  const copy = () =>
    navigator.clipboard?.writeText(link).then(
      () => setCopied(true),
      () => undefined,
    );
  return (
    <div className="stack" role="status">
      <p>
        {isMailed
          ? `Baton sends this link to ${invitation.email}. You can also pass it on yourself.`
          : `Send this link to ${invitation.displayName}${invitation.email === null ? '' : ' yourself: Baton sends no e-mail to this address'}.`}{' '}
        It works once, until <Instant at={invitation.expiresAt} />, and you won't be able to see it again.
      </p>
      <code className={`mono ${styles.value}`}>{link}</code>
      <div className="row">
        <button type="button" className="primary" autoFocus onClick={() => void copy()}>
          {isCopied ? 'Copied' : 'Copy'}
        </button>
        <button type="button" onClick={onDone}>
          Done
        </button>
      </div>
    </div>
  );
}
