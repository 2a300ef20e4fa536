import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Decider } from '../approval/Decider.tsx';
import { Decision } from '../approval/Decision.tsx';
import { Request } from '../approval/Request.tsx';
import { baton } from '../client.ts';
import { Empty, ErrorNote, Loading } from '../parts/Notes.tsx';
import { meQuery } from '../queries.ts';
import { useKeys } from '../shell/keys.ts';
import { ControlMessages } from './ControlMessages.tsx';
import styles from './inbox.module.css';
import { OnHold } from './OnHold.tsx';
import { SignInRequests } from './SignInRequests.tsx';

const othersMax = 50;

/** Pending approvals, first those that this person may decide; then control messages and work on hold. */
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
        <Empty title="No pending approvals">
          <p>Requests for your approval from agents and processes appear here.</p>
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
          <h2 id="others">Pending with others</h2>
          <ul className="stack">
            {others.map((approval) => (
              <li key={approval.id} className="card stack">
                <Request approval={approval} />
                <p className="soft">
                  Pending a decision by <Decider approval={approval} />
                </p>
                {approval.subjectChanged && (
                  <p>
                    <span aria-hidden="true">⚠ </span>Changed since it was requested.
                  </p>
                )}
                <Link to="/approvals/$id" params={{ id: approval.id }}>
                  Show details
                </Link>
              </li>
            ))}
          </ul>
        </section>
      )}
      <SignInRequests me={me.data} />
      <ControlMessages me={me.data} />
      <OnHold me={me.data} />
    </div>
  );
}

/**
 * Moves the focus to the next pending approval, or the previous one: to its first button if all of it fits on the
 * screen, else to its beginning, so that Enter never decides an off-screen approval.
 */
function focusDecision(step: 1 | -1): void {
  const all = [...document.querySelectorAll<HTMLElement>('[data-decision]')];
  const at = all.findIndex((one) => one.contains(document.activeElement));
  const next = all[Math.min(Math.max(at + step, 0), all.length - 1)];
  if (next === undefined) return;
  const fits = next.offsetHeight <= (next.closest('main')?.clientHeight ?? 0);
  const target = (fits && next.querySelector<HTMLElement>('button.primary:not(:disabled)')) || next;
  target.focus({ preventScroll: true });
  next.scrollIntoView({ block: fits ? 'nearest' : 'start' });
}
