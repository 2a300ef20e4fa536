import { useQueryClient } from '@tanstack/react-query';
import { Act } from '../administration/Section.tsx';
import { type OwnGrant, post } from '../client.ts';
import { Moment } from '../parts/Moment.tsx';
import table from '../parts/table.module.css';
import styles from './account.module.css';

/** The programs that the person has connected through a browser. The access of each can be ended. */
export function OwnGrants({ grants }: { grants: readonly OwnGrant[] }) {
  const queries = useQueryClient();
  const end = (id: string) =>
    post<object>('grant-end', { id }).finally(
      () => void queries.invalidateQueries({ queryKey: ['account'] }),
    );
  return (
    <section className="stack" aria-labelledby="grants">
      <h2 id="grants">Connected programs</h2>
      {grants.length === 0 && (
        <p className="soft">
          None. Programs that you connect through your browser, such as an editor or the command line, appear
          here.
        </p>
      )}
      <ul className={grants.length === 0 ? undefined : table.lines}>
        {grants.map((grant) => (
          <li key={grant.id} className={table.line}>
            <div className={table.main}>
              <p className={styles.title}>
                <bdi>{grant.name}</bdi>
              </p>
              <Facts grant={grant} />
            </div>
            <div className="row">
              <Act
                label="Disconnect"
                name={`Disconnect ${grant.name}`}
                confirm="sure"
                note={<Consequence grant={grant} />}
                act={() => end(grant.id)}
              />
            </div>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Consequence({ grant: { name, agentId, agentName } }: { grant: OwnGrant }) {
  return (
    <>
      <bdi>{name}</bdi> loses access immediately and has to be connected again.{' '}
      {agentId === null ? (
        'Tasks that it has claimed in your name'
      ) : (
        <>
          Tasks that it has claimed as <bdi>{agentName}</bdi>
        </>
      )}{' '}
      are released.
    </>
  );
}

function Facts({ grant }: { grant: OwnGrant }) {
  const { agentId, agentName, clientId, createdAt, lastUsedAt, expiresAt } = grant;
  return (
    <p className="soft">
      acts as {agentId === null ? 'you' : <bdi>{agentName}</bdi>} · <code className="mono">{clientId}</code> ·
      connected <Moment at={createdAt} /> · {lastUsedAt === null ? 'never used' : 'last used '}
      {lastUsedAt !== null && <Moment at={lastUsedAt} />} · expires <Moment at={expiresAt} />
    </p>
  );
}
