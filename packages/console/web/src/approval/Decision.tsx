import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { type ApprovalSubject, BatonError, presentSubject, revealHidden, subjectChanges } from '@baton/sdk';
import { baton } from '../client.ts';
import { useIdempotencyKeys } from '../parts/idempotency.ts';
import { ErrorNote, Loading } from '../parts/Notes.tsx';
import { notify } from '../parts/Notices.tsx';
import { Who } from '../parts/Who.tsx';
import { taskQuery } from '../queries.ts';
import styles from './approval.module.css';
import { approvalQuery } from './approval-query.ts';
import { type Asked, Request } from './Request.tsx';
import { Review } from './Review.tsx';
import { placeOf } from './subject-labels.ts';

/**
 * A pending approval with its subject, and the buttons that decide it. Approve sends the digest of the version on the
 * page. If that has changed since the person saw it, they confirm first that they have reviewed the changes. A second
 * click has no effect.
 */
export function Decision({ approval }: { readonly approval: Asked }) {
  const { id, taskId } = approval;
  const [comment, setComment] = useState('');
  const task = useQuery({ ...taskQuery(taskId ?? ''), enabled: taskId !== null });
  const isTaskKnown = taskId === null || !task.isPending;
  const review = useQuery({ ...approvalQuery(id, task.data?.version), enabled: isTaskKnown });
  const now = review.data && presentSubject(review.data);
  const [reviewed, setReviewed] = useReviewed(now);
  const isOther = now !== undefined && reviewed !== undefined && now.digest !== reviewed.digest;
  const decide = useDecide(id, comment, now?.digest);
  const isRefused = isSubjectChanged(decide.error);
  const reviewAgain = () => {
    setReviewed(now);
    decide.reset();
  };
  return (
    <article
      className="card stack"
      data-decision
      tabIndex={-1}
      aria-label={revealHidden(approval.comment) || 'Approval'}
    >
      <Request approval={approval} isReviewed />
      {review.data !== undefined && <Review approval={review.data} />}
      {review.isPending && <Loading />}
      {review.isError && <ErrorNote error={review.error} onRetry={() => void review.refetch()} />}
      {review.isError && review.data === undefined && (
        <p>
          The current version can't be shown, so you can only reject the request.
          {isForbidden(review.error) && ' To see it, you need the permission approvals.read.'}
        </p>
      )}
      {isOther && <ChangedMeanwhile reviewed={reviewed} now={now} takesFocus={isRefused} />}
      {isRefused && !isOther && !decide.isPending && !review.isError && (
        <p role="alert">
          This changed while you approved it, and has changed back since. Nothing was approved yet.
        </p>
      )}
      <label className="stack">
        <span className="visually-hidden">Comment on the decision</span>
        <input
          value={comment}
          onChange={({ target }) => setComment(target.value)}
          placeholder="Comment (optional)"
          maxLength={4000}
        />
      </label>
      <div className="row">
        <button
          type="button"
          className="primary"
          disabled={decide.isPending || now === undefined}
          onClick={() => (isOther ? reviewAgain() : decide.mutate('approve'))}
        >
          {isOther
            ? 'I have reviewed the changes'
            : review.data?.subjectChanged
              ? 'Approve the current version'
              : 'Approve'}
        </button>
        <button type="button" disabled={decide.isPending} onClick={() => decide.mutate('reject')}>
          Reject
        </button>
      </div>
      {decide.isError && !isRefused && <ErrorNote error={decide.error} />}
    </article>
  );
}

/** The version that the person has reviewed: the first one that was shown, until they confirm a later one. */
function useReviewed(now: ApprovalSubject | undefined) {
  const [reviewed, setReviewed] = useState(now);
  if (reviewed === undefined && now !== undefined) setReviewed(now);
  return [reviewed, setReviewed] as const;
}

interface ChangedMeanwhileProps {
  readonly reviewed: ApprovalSubject;
  readonly now: ApprovalSubject;
  /**
   * Whether the list takes the focus: it does if it appears in response to a click. A change made elsewhere moves
   * neither the focus nor the page.
   */
  readonly takesFocus: boolean;
}

/** Lists the changes since the person reviewed it. The values are shown above. */
function ChangedMeanwhile({ reviewed, now, takesFocus }: ChangedMeanwhileProps) {
  const ref = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!takesFocus) return;
    ref.current?.focus({ preventScroll: true });
    ref.current?.scrollIntoView({ block: 'nearest' });
  }, [takesFocus]);
  const places = subjectChanges(reviewed, now).map(({ path }) => {
    const { part, names } = placeOf(path);
    return [part, ...names.map((name) => revealHidden(name))].join(' › ');
  });
  return (
    <div className={styles.meanwhile} role="alert" tabIndex={-1} ref={ref}>
      <p>
        <strong>This changed while you were reviewing it. Nothing was approved.</strong> The current version
        is shown above. Review what changed:
      </p>
      <ul className={styles.places}>
        {[...new Set(places)].map((place) => (
          <li key={place} className="text">
            {place}
          </li>
        ))}
      </ul>
    </div>
  );
}

const isForbidden = (error: unknown): boolean =>
  error instanceof BatonError && error.code === 'permission_denied';

const isSubjectChanged = (error: unknown): boolean =>
  error instanceof BatonError && error.code === 'approval_subject_changed';

/** @param subjectDigest of the version on the page */
function useDecide(id: string, comment: string, subjectDigest: string | undefined) {
  const queries = useQueryClient();
  const keys = useIdempotencyKeys();
  return useMutation({
    mutationFn: (verdict: 'approve' | 'reject') => {
      const body = { ...(comment && { comment }), ...(subjectDigest !== undefined && { subjectDigest }) };
      return baton.approvals[verdict](id, body, { idempotencyKey: keys.of([verdict, body]) });
    },
    onSuccess: ({ status }) => notify(`You ${status} the request.`),
    onError: (error) => void notifyDecided(error, id),
    onSettled: async (_, error) => {
      const read = Promise.all(
        ['me', 'approvals', 'tasks'].map((key) => queries.invalidateQueries({ queryKey: [key] })),
      );
      // The buttons stay disabled until the page shows the changed subject.
      if (isSubjectChanged(error)) await read;
    },
  });
}

/** Reports the decision and its decider if somebody else was faster: the request has left the page by then. */
async function notifyDecided(error: unknown, id: string): Promise<void> {
  if (!(error instanceof BatonError) || error.code !== 'approval_already_decided') return;
  const now = await baton.approvals.get(id).catch(() => undefined);
  notify(
    <p>
      {' '}
      {now?.decisionByPrincipalId ? <Who id={now.decisionByPrincipalId} /> : 'Somebody'} already decided this
      request: {now?.status ?? 'decided'}.{' '}
    </p>,
    { isBad: true },
  );
}
