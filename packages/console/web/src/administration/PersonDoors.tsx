import { useQuery } from '@tanstack/react-query';
import { ErrorNote, Loading } from '../parts/Notes.tsx';
import table from '../parts/table.module.css';
import { PasskeyFacts } from '../passkeys/PasskeyFacts.tsx';
import { SessionFacts } from '../passkeys/SessionFacts.tsx';
import { invitationUrl } from '../passkeys/webauthn.ts';
import type { Administration } from './admin-secret.ts';
import { Act, Line, type SectionProps } from './Section.tsx';

interface PersonProps {
  readonly admin: Administration;
  readonly principalId: string;
  readonly displayName: string;
}

/** How a person signs in: their passkeys and browsers, and a recovery link. Shown on the person's page. */
export function PersonDoors({
  admin,
  principalId,
  displayName,
  onSecret,
}: PersonProps & Pick<SectionProps, 'onSecret'>) {
  const { identity, tenantId } = admin;
  const recover = async (replaceCredentials: boolean) => {
    const body = { replaceCredentials };
    const { token } = await identity.principals.createRecoveryLink(tenantId, principalId, body);
    onSecret({ name: `the recovery link for ${displayName}`, isLink: true, value: invitationUrl(token) });
  };
  return (
    <section className="stack" aria-label={`Sign-in of ${displayName}`}>
      <Passkeys admin={admin} principalId={principalId} displayName={displayName} />
      <Browsers admin={admin} principalId={principalId} displayName={displayName} />
      <div className="row">
        <Act label="Create a recovery link" act={() => recover(false)} />
        <Act
          label="Create a link that replaces all passkeys"
          confirm="sure"
          note="When the link is used, the person's other passkeys are removed and their browsers are signed out."
          act={() => recover(true)}
        />
      </div>
      <p className="soft">
        A link works once, within 7 days, and revokes earlier links of the person. It also adds a first
        passkey.
      </p>
    </section>
  );
}

function Passkeys({ admin, principalId, displayName }: PersonProps) {
  const { identity, tenantId } = admin;
  const passkeys = useQuery({
    queryKey: ['administration', 'passkeys', principalId],
    queryFn: ({ signal }) => identity.principals.listPasskeys(tenantId, principalId, { signal }),
  });
  return (
    <>
      <h2>Passkeys of {displayName}</h2>
      {passkeys.isPending && <Loading lines={1} />}
      {passkeys.isError && <ErrorNote error={passkeys.error} onRetry={() => void passkeys.refetch()} />}
      {passkeys.data?.items.length === 0 && <p className="soft">No passkeys.</p>}
      {passkeys.data !== undefined && passkeys.data.items.length > 0 && (
        <ul className={table.lines}>
          {passkeys.data.items.map((passkey) => (
            <Line
              key={passkey.id}
              title={passkey.name}
              facts={[<PasskeyFacts key="facts" passkey={passkey} />]}
              acts={
                <Act
                  label={`Remove ${passkey.name}`}
                  confirm="sure"
                  note="Browsers that signed in with it are signed out. Without another passkey or provider, the person needs a recovery link."
                  act={() =>
                    identity.principals.removePasskey(tenantId, principalId, passkey.id, { withLast: true })
                  }
                />
              }
            />
          ))}
        </ul>
      )}
    </>
  );
}

function Browsers({ admin, principalId, displayName }: PersonProps) {
  const { identity, tenantId } = admin;
  const sessions = useQuery({
    queryKey: ['administration', 'browser-sessions', principalId],
    queryFn: ({ signal }) => identity.principals.listBrowserSessions(tenantId, principalId, { signal }),
  });
  return (
    <>
      <h2>Browsers of {displayName}</h2>
      {sessions.isPending && <Loading lines={1} />}
      {sessions.isError && <ErrorNote error={sessions.error} onRetry={() => void sessions.refetch()} />}
      {sessions.data?.items.length === 0 && <p className="soft">Not signed in.</p>}
      {sessions.data !== undefined && sessions.data.items.length > 0 && (
        <ul className={table.lines}>
          {sessions.data.items.map((session) => (
            <Line
              key={session.id}
              title={`Session ${session.publicPrefix}`}
              facts={[<SessionFacts key="facts" session={session} />]}
              acts={
                <Act
                  label="Sign out"
                  act={() => identity.principals.revokeBrowserSession(tenantId, principalId, session.id)}
                />
              }
            />
          ))}
        </ul>
      )}
    </>
  );
}
