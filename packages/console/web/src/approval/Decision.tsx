import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { type ApprovalSubject, BatonError, presentSubject, subjectChanges } from '@baton/sdk';
import { baton } from '../client.ts';
import { useIdempotencyKeys } from '../parts/idempotency.ts';
import { ErrorNote, Loading } from '../parts/Notes.tsx';
import { Who } from '../parts/Who.tsx';
import { taskQuery } from '../queries.ts';
import { tell } from '../shell/Notices.tsx';
import styles from './approval.module.css';
import { approvalQuery } from './approval-query.ts';
import { type Asked, Request } from './Request.tsx';
import { Review } from './Review.tsx';
import { placeOf, unhidden } from './subject-words.ts';

/**
 * One request with all that is decided, and its answers. Approve sends the digest of what stands on the page. Where that
 * has changed since the person looked at it, they look again first. A second click decides nothing more.
 */
export function Decision({ approval }: { readonly approval: Asked }) {
  const { id, taskId } = approval;
  const [comment, setComment] = useState('');
  const task = useQuery({ ...taskQuery(taskId ?? ''), enabled: taskId !== null });
  const isTaskKnown = taskId === null || !task.isPending;
  const review = useQuery({ ...approvalQuery(id, task.data?.version), enabled: isTaskKnown });
  const now = review.data && presentSubject(review.data);
  const [looked, setLooked] = useLookedAt(now);
  const isOther = now !== undefined && looked !== undefined && now.digest !== looked.digest;
  const decide = useDecide(id, comment, now?.digest);
  const isRefused = isSubjectChanged(decide.error);
  const lookAgain = () => {
    setLooked(now);
    decide.reset();
  };
  return (
    <article className="card stack" data-decision>
      <Request approval={approval} isReviewed />
      {review.data !== undefined && <Review approval={review.data} />}
      {review.isPending && <Loading />}
      {review.isError && review.data === undefined && (
        <>
          <ErrorNote error={review.error} onRetry={() => void review.refetch()} />
          <p className="soft">What you would approve can't be shown, so you can only reject it here.</p>
        </>
      )}
      {isOther && <ChangedMeanwhile looked={looked} now={now} />}
      {isRefused && !isOther && !decide.isPending && (
        <p role="alert">
          This had changed when you approved it, and is again what you were shown. Nothing was approved yet.
        </p>
      )}
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
          disabled={decide.isPending || now === undefined}
          onClick={() => (isOther ? lookAgain() : decide.mutate('approve'))}
        >
          {isOther
            ? 'I have looked at the change'
            : review.data?.subjectChanged
              ? 'Approve as it is now'
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

/** What the person has looked at: what was shown first, until they say that they have looked at something later. */
function useLookedAt(now: ApprovalSubject | undefined) {
  const [looked, setLooked] = useState(now);
  if (looked === undefined && now !== undefined) setLooked(now);
  return [looked, setLooked] as const;
}

/** Says what has changed since the person looked. The values themselves stand above it. */
function ChangedMeanwhile({ looked, now }: Readonly<Record<'looked' | 'now', ApprovalSubject>>) {
  const ref = useRef<HTMLDivElement>(null);
  // The changes, which stand above it, have moved it.
  useEffect(() => {
    ref.current?.scrollIntoView({ block: 'nearest' });
  }, []);
  const places = subjectChanges(looked, now).map(({ path }) => {
    const { part, names } = placeOf(path);
    return [part, ...names.map((name) => unhidden(name))].join(' › ');
  });
  return (
    <div className={styles.meanwhile} role="alert" ref={ref}>
      <p>
        <strong>This changed after you opened it. Nothing was approved.</strong> You see it as it is now. Look
        at it again:
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

const isSubjectChanged = (error: unknown): boolean =>
  error instanceof BatonError && error.code === 'approval_subject_changed';

/** @param subjectDigest of what stands on the page */
function useDecide(id: string, comment: string, subjectDigest: string | undefined) {
  const queries = useQueryClient();
  const keys = useIdempotencyKeys();
  return useMutation({
    mutationFn: (verdict: 'approve' | 'reject') => {
      const body = { ...(comment && { comment }), ...(subjectDigest !== undefined && { subjectDigest }) };
      return baton.approvals[verdict](id, body, { idempotencyKey: keys.of([verdict, body]) });
    },
    onSuccess: ({ status }) => tell(`You have ${status} it. Whoever asked goes on from here.`),
    onError: (error) => void tellWhoDecided(error, id),
    onSettled: async (_, error) => {
      const read = Promise.all(
        ['me', 'approvals', 'tasks'].map((key) => queries.invalidateQueries({ queryKey: [key] })),
      );
      // The answers stay locked until the change stands on the page.
      if (isSubjectChanged(error)) await read;
    },
  });
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
