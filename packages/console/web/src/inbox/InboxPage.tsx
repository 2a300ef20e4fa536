import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { BatonError } from '@baton/sdk';
import { baton } from '../client.ts';
import { useIdempotencyKeys } from '../parts/idempotency.ts';
import { Empty, ErrorNote, Loading } from '../parts/Notes.tsx';
import { Who } from '../parts/Who.tsx';
import { meQuery } from '../queries.ts';
import { useKeys } from '../shell/keys.ts';
import { tell } from '../shell/Notices.tsx';
import { ControlMessages } from './ControlMessages.tsx';
import styles from './inbox.module.css';
import { Parked } from './Parked.tsx';
import { type Asked, Request } from './Request.tsx';

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
  useKeys({ j: () => focusDecision(1), k: () => focusDecision(-1) });
  if (me.isError && me.data === undefined)
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
        <ul className={styles.section}>
          {me.data.pendingApprovals.map((approval) => (
            <li key={approval.id}>
              <Decision approval={approval} />
            </li>
          ))}
        </ul>
      )}
      {others.length > 0 && (
        <section className={styles.section} aria-labelledby="others">
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
      <ControlMessages me={me.data} />
      <Parked me={me.data} />
    </div>
  );
}

/** The request is gone from the page by then: what was decided, and by whom, is told above it. */
async function tellWhoDecided(error: unknown, id: string): Promise<void> {
  if (!(error instanceof BatonError) || error.code !== 'approval_already_decided') return;
  const now = await baton.approvals.get(id).catch(() => undefined);
  tell(
    <p>
      {now?.decisionByPrincipalId ? <Who id={now.decisionByPrincipalId} /> : 'Somebody'} was faster: it is{' '}
      {now?.status ?? 'decided'}.
    </p>,
    { isBad: true },
  );
}

/** Moves the focus to the next request's, or the previous one's, first answer. */
function focusDecision(step: 1 | -1): void {
  const all = [...document.querySelectorAll<HTMLElement>('[data-decision]')];
  const at = all.findIndex((one) => one.contains(document.activeElement));
  const next = all[Math.min(Math.max(at + step, 0), all.length - 1)];
  next?.querySelector<HTMLElement>('button.primary')?.focus();
  next?.scrollIntoView({ block: 'nearest' });
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
    onSuccess: ({ status }) => tell(`You have ${status} it. Whoever asked goes on from here.`),
    onError: (error) => void tellWhoDecided(error, approval.id),
    onSettled: () => {
      for (const key of ['me', 'approvals', 'tasks']) void queries.invalidateQueries({ queryKey: [key] });
    },
  });
  return (
    <article className="card stack" data-decision>
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
