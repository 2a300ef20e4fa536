import { useQuery } from '@tanstack/react-query';
import { memo } from 'react';
import { type Approval, type ApprovalSubject, presentSubject, subjectChanges } from '@baton/sdk';
import { approvalQuery } from './approval-query.ts';
import { Changes } from './Changes.tsx';
import { Subject } from './Subject.tsx';
import { labelFields } from './subject-labels.ts';

interface ReviewProps {
  readonly approval: Approval;
}

/**
 * The subject of a pending approval, with its changes since the request and, if it was requested again, since the
 * earlier approval. Not re-rendered on each keystroke in the comment: a comparison of long texts takes tens of
 * milliseconds.
 */
export const Review = memo(function Review({ approval }: ReviewProps) {
  const { supersedesApprovalId, subject, subjectChanged, changedFields } = approval;
  const earlier = useQuery({
    ...approvalQuery(supersedesApprovalId ?? ''),
    enabled: supersedesApprovalId !== null,
  });
  const now = presentSubject(approval);
  if (now === undefined)
    return (
      <p role="note">
        The current version is too large to be shown, so it can't be approved. Changed since the request:{' '}
        {labelFields(changedFields)}. Reject it, or request a shorter task.
      </p>
    );
  const sinceRequest = changesOf(subject, now);
  const sinceApproval = changesOf(earlier.data?.subject, now);
  return (
    <>
      {subject === null && (
        <p role="note">
          The version at the time of the request was not recorded. The current version is shown.
        </p>
      )}
      {earlier.isError && (
        <p role="note">
          The task was changed after it had been approved, so it needs approval again. The approved version
          can't be shown: {earlier.error.message}
        </p>
      )}
      {sinceApproval.length > 0 && (
        <Changes
          changes={sinceApproval}
          title="Changed since it was approved"
          before="When it was approved"
          after="Now"
        />
      )}
      {subjectChanged && sinceRequest.length > 0 && (
        <Changes
          changes={sinceRequest}
          title="Changed since it was requested"
          before="When it was requested"
          after="Now"
        />
      )}
      <Subject
        snapshot={now.snapshot}
        changes={[...sinceApproval, ...sinceRequest]}
        title="What this approval covers"
      />
    </>
  );
});

/** The subject that was decided, with its differences from the request and from the current version. */
export function DecidedReview({ approval }: ReviewProps) {
  const { subject, requestedSubject, current } = approval;
  if (subject === null) return <p className="soft">The decided version was not recorded.</p>;
  const sinceRequest = changesOf(requestedSubject, subject);
  const sinceDecision = changesOf(subject, current);
  return (
    <>
      {sinceRequest.length > 0 && (
        <Changes
          changes={sinceRequest}
          title="Changed between the request and the decision"
          before="When it was requested"
          after="When it was decided"
        />
      )}
      {sinceDecision.length > 0 && (
        <Changes
          changes={sinceDecision}
          title="Changed since the decision"
          before="When it was decided"
          after="Now"
        />
      )}
      <Subject snapshot={subject.snapshot} changes={[]} title="What was decided" />
    </>
  );
}

function changesOf(before: ApprovalSubject | null | undefined, after: ApprovalSubject | null) {
  return before && after && before.digest !== after.digest ? subjectChanges(before, after) : [];
}
