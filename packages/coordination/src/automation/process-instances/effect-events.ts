import { invocationCancelled } from '../../leases/invocations/invocations.events.ts';
import { approvalCancelled } from '../../results/approvals/approvals.events.ts';
import { invocationRequested } from '../../results/invocations/invocations.events.ts';
import { approvalRequested } from '../../work/gates/gates.events.ts';
import {
  externalReferenceAdded,
  externalReferenceRemoved,
} from '../../work/relations/external-references/external-references.events.ts';
import { taskCreated, taskUpdated } from '../../work/tasks/tasks.events.ts';

/** What steps of an instance may write besides the events of the instance itself. */
export const effectEvents = [
  taskCreated,
  taskUpdated,
  externalReferenceAdded,
  externalReferenceRemoved,
  approvalRequested,
  approvalCancelled,
  invocationRequested,
  invocationCancelled,
];
