import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import type { Approval } from '@baton/sdk';
import { baton } from '../client.ts';
import { useIdempotencyKeys } from '../parts/idempotency.ts';
import { Moment } from '../parts/Moment.tsx';
import { Empty, ErrorNote, Loading } from '../parts/Notes.tsx';
import { Who } from '../parts/Who.tsx';
import { meQuery, taskQuery } from '../queries.ts';
import styles from './inbox.module.css';

const othersMax = 50;

/** What waits for a decision: first what this person may decide, then what waits for others. */
export function InboxPage() {
  const me = useQuery(meQuery);
  const all = useQuery({
    queryKey: ['approvals', 'pending'],
    queryFn: ({ signal }) =>
      baton.approvals.list({ status: 'pending', limit: othersMax }, { signal }).then(({ items }) => items),
    enabled: me.data?.permissions.includes('approvals.read') ?? false,
  });
  const mine = new Set(me.data?.pendingApprovals.map(({ id }) => id));
  const others = all.data?.filter(({ id }) => !mine.has(id)) ?? [];
  if (me.isError)
    return (
      <div className="page">
        <ErrorNote error={me.error} onRetry={() => void me.refetch()} />
      </div>
    );
  if (me.data === undefined)
    return (
      <div className="page">
        <Loading />
      </div>
    );
  return (
    <div className="page">
      <h1>Inbox</h1>
      {mine.size === 0 ? (
        <Empty title="Nothing waits for you">
          <p>When an agent or a process asks for your approval, it appears here.</p>
        </Empty>
      ) : (
        <ul className="stack">
          {me.data.pendingApprovals.map((approval) => (
            <li key={approval.id}>
              <Decision approval={approval} />
            </li>
          ))}
        </ul>
      )}
      {others.length > 0 && (
        <section className="stack" aria-labelledby="others">
          <h2 id="others">Waits for others</h2>
          <ul className="stack">
            {others.map((approval) => (
              <li key={approval.id} className="card stack">
                <Request approval={approval} />
                <p className="soft">
                  Decided by{' '}
                  {approval.assignedPrincipalId === null ? (
                    'whoever holds the role'
                  ) : (
                    <Who id={approval.assignedPrincipalId} />
                  )}
                </p>
              </li>
            ))}
          </ul>
        </section>
      )}
    </div>
  );
}

type Asked = Pick<Approval, 'id' | 'taskId' | 'gate' | 'comment' | 'createdAt'> & {
  readonly requestedBy?: string;
  readonly requestedByPrincipalId?: string;
};

function Request({ approval }: { approval: Asked }) {
  const { taskId, comment, createdAt, gate } = approval;
  const task = useQuery({ ...taskQuery(taskId ?? ''), enabled: taskId !== null });
  return (
    <>
      <p className="text">{comment || 'Asks for an approval, without a word.'}</p>
      {task.data !== undefined && (
        <p>
          <Link to="/tasks/$ref" params={{ ref: task.data.publicId }}>
            {task.data.title}
          </Link>
        </p>
      )}
      <p className="soft">
        <Who id={approval.requestedBy ?? approval.requestedByPrincipalId ?? null} /> ·{' '}
        <Moment at={createdAt} />
        {gate && ' · the task waits for it'}
      </p>
    </>
  );
}

/** One request with what is needed to decide it. A second click decides nothing more. */
function Decision({ approval }: { approval: Asked }) {
  const queries = useQueryClient();
  const keys = useIdempotencyKeys();
  const [comment, setComment] = useState('');
  const decide = useMutation({
    mutationFn: (verdict: 'approve' | 'reject') =>
      baton.approvals[verdict](approval.id, comment ? { comment } : {}, {
        idempotencyKey: keys.of([verdict, comment]),
      }),
    onSettled: () => {
      for (const key of ['me', 'approvals', 'tasks']) void queries.invalidateQueries({ queryKey: [key] });
    },
  });
  return (
    <article className={`card stack ${styles.decision}`}>
      <Request approval={approval} />
      <label className="stack">
        <span className="visually-hidden">A word to the decision</span>
        <input
          value={comment}
          onChange={({ target }) => setComment(target.value)}
          placeholder="A word to it (optional)"
          maxLength={4000}
        />
      </label>
      <div className="row">
        <button
          type="button"
          className="primary"
          disabled={decide.isPending}
          onClick={() => decide.mutate('approve')}
        >
          Approve
        </button>
        <button type="button" disabled={decide.isPending} onClick={() => decide.mutate('reject')}>
          Reject
        </button>
      </div>
      {decide.isError && <ErrorNote error={decide.error} />}
    </article>
  );
}
