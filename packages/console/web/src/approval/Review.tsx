import { useQuery } from '@tanstack/react-query';
import { type Approval, type ApprovalSubject, presentSubject, subjectChanges } from '@baton/sdk';
import { approvalQuery } from './approval-query.ts';
import { Changes } from './Changes.tsx';
import { Subject } from './Subject.tsx';

/** What a pending approval is about, and what has changed since it was requested or, where it is requested again, approved. */
export function Review({ approval }: { readonly approval: Approval }) {
  const { supersedesApprovalId, subject, subjectChanged, changedFields } = approval;
  const earlier = useQuery({
    ...approvalQuery(supersedesApprovalId ?? ''),
    enabled: supersedesApprovalId !== null,
  });
  const now = presentSubject(approval);
  if (now === undefined)
    return (
      <p role="note">
        What this is about has become too large to be shown, so it can't be approved:{' '}
        {changedFields.join(', ')} changed since it was requested. Reject it, or have the task shortened.
      </p>
    );
  const sinceRequest = changesOf(subject, now);
  const sinceApproval = changesOf(earlier.data?.subject, now);
  return (
    <>
      {subject === null && (
        <p role="note">
          What this was about when it was requested was not recorded. You see what it is about now.
        </p>
      )}
      {earlier.isError && (
        <p role="note">
          A change after the approval made it necessary again. What was approved can't be shown:{' '}
          {earlier.error.message}
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
        title="What you decide"
      />
    </>
  );
}

/** What was decided, and how that differs from the request and from the present. */
export function DecidedReview({ approval }: { readonly approval: Approval }) {
  const { subject, requestedSubject, current } = approval;
  if (subject === null) return <p className="soft">What was decided was not recorded.</p>;
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
