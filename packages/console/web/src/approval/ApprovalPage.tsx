import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { type Approval, type HarnessContext, presentSubject, revealHidden } from '@baton/sdk';
import { Moment } from '../parts/Moment.tsx';
import { ErrorNote, Loading } from '../parts/Notes.tsx';
import { Prose } from '../parts/Prose.tsx';
import { Who } from '../parts/Who.tsx';
import { meQuery } from '../queries.ts';
import { useTitle } from '../shell/title.ts';
import styles from './approval.module.css';
import { approvalQuery } from './approval-query.ts';
import { Decider } from './Decider.tsx';
import { Decision } from './Decision.tsx';
import { Request } from './Request.tsx';
import { DecidedReview, Review } from './Review.tsx';

const route = getRouteApi('/shell/approvals/$id');

/** One approval: its subject with the changes, and its decider. */
export function ApprovalPage() {
  const { id } = route.useParams();
  const me = useQuery(meQuery).data;
  const query = useQuery(approvalQuery(id));
  useTitle(titleOf(query.data));
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
  const isMine = me !== undefined && isForMe(approval, me);
  return (
    <div className="page">
      <p className="row soft">
        <Link to="/inbox">Inbox</Link>
        {approval.supersedesApprovalId !== null && (
          <Link to="/approvals/$id" params={{ id: approval.supersedesApprovalId }}>
            Earlier approval
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

function titleOf(approval: Approval | undefined): string {
  const subject = approval?.status === 'pending' ? presentSubject(approval) : approval?.subject;
  const title = subject?.snapshot.task?.title;
  return title === undefined ? 'Approval' : `Approval: ${revealHidden(title)}`;
}

/**
 * Whether this person may decide the approval. Their own list of pending approvals holds only the newest ones; the
 * service authorizes each decision.
 */
function isForMe(
  approval: Approval,
  { principal, permissions, roles, pendingApprovals }: HarnessContext,
): boolean {
  if (pendingApprovals.some(({ id }) => id === approval.id)) return true;
  const { requiredRoleId, assignedPrincipalId, excludedPrincipals } = approval;
  const mayDecide = permissions.includes('approvals.decide') || permissions.includes('admin');
  if (!mayDecide || excludedPrincipals.includes(principal.id)) return false;
  return requiredRoleId === null
    ? assignedPrincipalId === principal.id
    : roles.some(({ id }) => id === requiredRoleId);
}

const decisions = { approved: 'Approved', rejected: 'Rejected', cancelled: 'Cancelled' } as const;

/** The deciders, or the decider and the decision. */
function State({ approval }: { readonly approval: Approval }) {
  const { status, decisionByPrincipalId, decisionAt, decisionComment, outcomeStatus } = approval;
  if (status === 'pending')
    return (
      <p>
        Pending a decision by <Decider approval={approval} />.
      </p>
    );
  return (
    <>
      <p>
        <strong>{decisions[status]}</strong>
        {decisionByPrincipalId !== null && (
          <>
            {' '}
            by <Who id={decisionByPrincipalId} />
          </>
        )}
        {decisionAt !== null && (
          <span className="soft">
            {' '}
            <Moment at={decisionAt} />
          </span>
        )}
      </p>
      {decisionComment && <Prose text={decisionComment} />}
      {outcomeStatus !== null && <p className="soft">Follow-up actions: {outcomeStatus}</p>}
    </>
  );
}
