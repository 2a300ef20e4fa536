import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { Task } from '@baton/sdk';
import { Decider } from '../approval/Decider.tsx';
import { baton } from '../client.ts';
import { Moment } from '../parts/Moment.tsx';
import { Prose } from '../parts/Prose.tsx';
import { Who } from '../parts/Who.tsx';
import { meQuery } from '../queries.ts';
import { commentsQuery } from './comments.ts';
import { runsQuery } from './runs.ts';
import styles from './task.module.css';

const approvalsMax = 5;

/** Why a task is blocked: the failure of its newest attempt, the newest comment, and pending approvals. */
export function BlockedReason({ task }: { readonly task: Task }) {
  const [run] = useQuery(runsQuery(task)).data ?? [];
  const comments = useInfiniteQuery(commentsQuery(task));
  const mayReadApprovals = useQuery(meQuery).data?.permissions.includes('approvals.read') ?? false;
  const approvals = useQuery({
    queryKey: ['approvals', 'of-task', task.id],
    queryFn: ({ signal }) =>
      baton.approvals
        .list({ taskId: task.id, status: 'pending', limit: approvalsMax }, { signal })
        .then(({ items }) => items),
    enabled: mayReadApprovals,
  });
  // With more than one page of comments, the newest one is not loaded.
  const comment = comments.hasNextPage ? undefined : comments.data?.at(-1);
  return (
    <>
      {run !== undefined && run.failureReason !== null && (
        <>
          <p>
            <Who id={run.principalId} /> stopped <Moment at={run.finishedAt ?? run.updatedAt} />:
          </p>
          <Prose text={run.failureReason} task={task} />
        </>
      )}
      {comment !== undefined && (
        <div className={`stack ${styles.remedy}`}>
          <p className="soft">
            <Who id={comment.authorPrincipalId} /> · <Moment at={comment.createdAt} />
          </p>
          <Prose text={comment.body} task={task} />
        </div>
      )}
      {approvals.data?.map((approval) => (
        <p key={approval.id}>
          Pending approval by <Decider approval={approval} />:{' '}
          <Link to="/approvals/$id" params={{ id: approval.id }}>
            {approval.comment || 'approval'}
          </Link>
        </p>
      ))}
    </>
  );
}
