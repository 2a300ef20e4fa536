import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { useState } from 'react';
import { type JoinedPerson, readJoinedPerson } from '@baton/sdk/people';
import { AdministrationGate } from '../administration/AdministrationGate.tsx';
import { type Administration, useAdministration } from '../administration/admin-secret.ts';
import styles from '../administration/administration.module.css';
import { PersonDoors } from '../administration/PersonDoors.tsx';
import { type SectionProps, useSecretsOnce } from '../administration/Section.tsx';
import { baton } from '../client.ts';
import { Allowed } from '../parts/Allowed.tsx';
import { Moment } from '../parts/Moment.tsx';
import { ErrorNote, Loading } from '../parts/Notes.tsx';
import { meQuery } from '../queries.ts';
import { useTitle } from '../shell/title.ts';
import { Access } from './Access.tsx';
import { EnableOrDisable } from './EnableOrDisable.tsx';
import { GiveAccess } from './GiveAccess.tsx';
import { stateNames } from './people-search.ts';

const route = getRouteApi('/shell/people/$id');

/** A person, an agent or a service: state, access, and how to change them. */
export function PersonPage() {
  return (
    <article className="page">
      <p className="row soft">
        <Link to="/people">People and agents</Link>
      </p>
      <Allowed permission="principals.read">
        <Content />
      </Allowed>
    </article>
  );
}

function Content() {
  const { id } = route.useParams();
  const administration = useAdministration();
  const secrets = useSecretsOnce();
  const query = useQuery({
    queryKey: ['administration', 'people', administration !== undefined, 'one', id],
    queryFn: ({ signal }) => readJoinedPerson({ baton, administration }, id, { signal }),
  });
  useTitle(query.data?.displayName);
  if (query.isError)
    return (
      <>
        <h1>Person or agent</h1>
        {secrets.shown}
        <ErrorNote error={query.error} onRetry={() => void query.refetch()} />
        {administration === undefined && <Unlock />}
      </>
    );
  if (query.isPending)
    return (
      <>
        <h1>Person or agent</h1>
        {secrets.shown}
        <Loading lines={5} />
      </>
    );
  return (
    <>
      {secrets.shown}
      <Person person={query.data} administration={administration} onSecret={secrets.show} />
    </>
  );
}

function Unlock() {
  return (
    <details className={`card ${styles.create}`}>
      <summary>Manage passkeys, recovery and sign-in</summary>
      <div>
        <AdministrationGate />
      </div>
    </details>
  );
}

interface PersonProps extends Pick<SectionProps, 'onSecret'> {
  readonly person: JoinedPerson;
  readonly administration: Administration | undefined;
}

function Person({ person, administration, onSecret }: PersonProps) {
  const me = useQuery(meQuery).data;
  const mayWrite = me?.permissions.includes('principals.write') ?? false;
  const { displayName, kind, email, agent, principalId, iamPrincipalId, lastUsedAt, createdAt } = person;
  return (
    <>
      <header className="stack">
        <h1 className="text">{displayName}</h1>
        <p className="row">
          <span>{kind === 'human' ? 'person' : kind}</span>
          <span>{stateNames[person.state]}</span>
          {person.reason !== '' && person.reason !== stateNames[person.state] && <span>{person.reason}</span>}
        </p>
        <p className="row soft">
          {email !== null && <span>{email}</span>}
          {agent !== null && (
            <span>
              agent <code className="mono">{agent}</code> of the registry
            </span>
          )}
          <span>
            added <Moment at={createdAt} />
          </span>
          {/* Disabling somebody removes the record of the last use. */}
          {(lastUsedAt !== null || person.state !== 'disabled') && (
            <span>
              {lastUsedAt === null ? 'never used' : 'last used '}
              {lastUsedAt !== null && <Moment at={lastUsedAt} />}
            </span>
          )}
        </p>
        <p className="soft mono">
          {[principalId && `principal ${principalId}`, iamPrincipalId && `identity ${iamPrincipalId}`]
            .filter(Boolean)
            .join(' · ')}
        </p>
      </header>
      {administration === undefined && mayWrite && <Unlock />}
      {principalId === null ? (
        administration !== undefined &&
        mayWrite && <GiveAccess person={person} administration={administration} />
      ) : (
        <>
          <Access person={person} principalId={principalId} mayWrite={mayWrite} />
          {me?.permissions.includes('sessions.manage') && (
            <section className="card stack" aria-labelledby="work">
              <h2 id="work">Work in progress</h2>
              <p>
                <Link to="/agents">Agents and sessions</Link> lists everyone's sessions and claimed tasks.
              </p>
            </section>
          )}
        </>
      )}
      {administration !== undefined && kind === 'human' && iamPrincipalId !== null && (
        <Doors
          admin={administration}
          principalId={iamPrincipalId}
          displayName={displayName}
          onSecret={onSecret}
        />
      )}
      {mayWrite && principalId !== me?.principal.id && (
        <EnableOrDisable person={person} administration={administration} />
      )}
    </>
  );
}

/** Loads the passkeys and browsers of a person when they are unfolded. */
function Doors(props: Parameters<typeof PersonDoors>[0]) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details
      className={`card ${styles.create}`}
      onToggle={({ currentTarget }) => setOpen(currentTarget.open)}
    >
      <summary>Passkeys, browsers, recovery</summary>
      {isOpen && <PersonDoors {...props} />}
    </details>
  );
}
