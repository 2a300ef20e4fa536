import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import type { Approval } from '@baton/sdk';
import { Moment } from '../parts/Moment.tsx';
import { ErrorNote, Loading } from '../parts/Notes.tsx';
import { Who } from '../parts/Who.tsx';
import { meQuery } from '../queries.ts';
import { useTitle } from '../shell/title.ts';
import styles from './approval.module.css';
import { approvalQuery } from './approval-query.ts';
import { Decision } from './Decision.tsx';
import { Request } from './Request.tsx';
import { DecidedReview, Review } from './Review.tsx';

const route = getRouteApi('/shell/approvals/$id');

/** One approval: what it is about, who decides it or has decided it, and what has changed since. */
export function ApprovalPage() {
  const { id } = route.useParams();
  const me = useQuery(meQuery).data;
  const query = useQuery(approvalQuery(id));
  useTitle('Approval');
  if (query.isError && query.data === undefined)
    return (
      <div className="page">
        <ErrorNote error={query.error} onRetry={() => void query.refetch()} />
        <Link to="/inbox">Back to the inbox</Link>
      </div>
    );
  if (query.data === undefined)
    return (
      <div className="page">
        <Loading lines={6} />
      </div>
    );
  const approval = query.data;
  const isMine = me?.pendingApprovals.some((one) => one.id === id) ?? false;
  return (
    <div className="page">
      <p className="row soft">
        <Link to="/inbox">Inbox</Link>
        {approval.supersedesApprovalId !== null && (
          <Link to="/approvals/$id" params={{ id: approval.supersedesApprovalId }}>
            The approval before the change
          </Link>
        )}
      </p>
      <h1>Approval</h1>
      <div className={styles.one}>
        {isMine && approval.status === 'pending' ? (
          <Decision key={id} approval={approval} />
        ) : (
          <article className="card stack">
            <Request
              approval={{ ...approval, gate: approval.gate && approval.status === 'pending' }}
              isReviewed
            />
            <State approval={approval} />
            {approval.status === 'pending' ? (
              <Review approval={approval} />
            ) : (
              <DecidedReview approval={approval} />
            )}
          </article>
        )}
      </div>
    </div>
  );
}

const answers = { approved: 'Approved', rejected: 'Rejected', cancelled: 'Cancelled' } as const;

/** Who decides it, or who has decided what. */
function State({ approval }: { readonly approval: Approval }) {
  const { status, assignedPrincipalId, decisionByPrincipalId, decisionAt, decisionComment } = approval;
  if (status === 'pending')
    return (
      <p>
        Pending. Decided by{' '}
        {assignedPrincipalId === null ? 'whoever holds the role' : <Who id={assignedPrincipalId} />}.
      </p>
    );
  return (
    <>
      <p>
        <strong>{answers[status]}</strong> by <Who id={decisionByPrincipalId} nobody="nobody" />
        {decisionAt !== null && (
          <span className="soft">
            {' '}
            <Moment at={decisionAt} />
          </span>
        )}
      </p>
      {decisionComment && <p className="text">{decisionComment}</p>}
    </>
  );
}
