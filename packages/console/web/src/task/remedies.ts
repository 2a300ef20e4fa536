import { etagOf } from '@baton/sdk';
import { baton } from '../client.ts';
import { endReasons } from './lease-ends.ts';

/** An action that removes a reason why the task can't be claimed, under its name in the API. */
export interface Remedy {
  readonly act: string;
  readonly path: string;
}

interface Act {
  /** The button's label. */
  readonly words: string;
  /** The confirmation for an action that affects somebody else. */
  readonly confirmation?: string;
  /**
   * @param ids the ids in the remedy's path, in order
   */
  readonly run: (ids: readonly string[]) => Promise<unknown>;
}

/** @returns the approval of an `approve` remedy. It is decided on its own page, never by a click here. */
export function approvalOf({ act, path }: Remedy): string | undefined {
  return act === 'approve' ? idsIn(path)[0] : undefined;
}

/** The actions that a click performs. Others need input; the page shows advice for these. */
const acts: Readonly<Record<string, Act>> = {
  release_claim: {
    words: 'Release claim',
    confirmation: 'The holder loses the task immediately, and their later changes are rejected.',
    run: ([claimId = '']) => baton.claims.release(claimId, { reason: endReasons.ended }),
  },
  cancel_approval: {
    words: 'Cancel the approval request',
    confirmation: 'The task continues without this approval.',
    run: ([id = '']) => baton.approvals.cancel(id),
  },
  complete_prerequisite: {
    words: 'Complete the dependency',
    confirmation: 'The task that this one depends on will be marked as done.',
    async run([taskId = '']) {
      const task = await baton.tasks.get(taskId);
      return baton.tasks.complete(taskId, {}, { ifMatch: etagOf(task) });
    },
  },
  make_available: {
    words: 'Make available now',
    run: ([taskId = '']) => baton.tasks.makeAvailable(taskId),
  },
  remove_relation: {
    words: 'Remove the dependency',
    confirmation: 'The task will no longer depend on the other one.',
    run: ([taskId = '', relationId = '']) => baton.tasks.deleteRelation(taskId, relationId),
  },
};

/** The action that a click performs, bound to the ids in the remedy's path; undefined for a remedy that needs input. */
export function actOf({ act, path }: Remedy): (Omit<Act, 'run'> & { run(): Promise<unknown> }) | undefined {
  const known = acts[act];
  return known && { ...known, run: () => known.run(idsIn(path)) };
}

const idsIn = (path: string): readonly string[] => path.match(/[\da-f]{8}-[\da-f-]{27}/g) ?? [];

const words: Readonly<Record<string, string>> = {
  approve: 'Approve',
  reopen: 'Move the task to an open status.',
  unblock: 'Move the task to an open status.',
  change_start_date: 'The task has a later start date. Change the start date to make it available now.',
  record_input: 'Publish the required artifact.',
  read_verifications: 'Verification is in progress. See Acceptance checks.',
  assign_role: 'Assign yourself the required role in Administration.',
  assign_capability: 'Request the required capability from an administrator.',
  assign_skill: 'Request the required skill from an administrator.',
  change_requirements: 'Change the requirements of the task.',
};

/** Advice for a remedy that needs input. */
export const adviceOf = ({ act }: Remedy): string => words[act] ?? `${act.replaceAll('_', ' ')}.`;

const reasons: Readonly<Record<string, string>> = {
  task_not_claimable: 'The task has ended, or its status does not allow claims.',
  task_already_claimed: 'The task is already claimed.',
  task_not_ready: 'The task depends on unfinished tasks.',
  input_missing: 'A required input is missing.',
  approval_required: 'An approval is pending.',
  verification_pending: 'Verification is in progress.',
  not_eligible: 'You do not meet the requirements of the task.',
  project_archived: 'The project is archived.',
  no_eligible_principal: 'No active principal meets the requirements of the task.',
};

/** @param details the reason's details, without its code */
export function describeReason(code: string, details: Readonly<Record<string, unknown>> = {}): string {
  if (code === 'task_not_claimable' && details['systemStatusCategory'] === 'blocked')
    return 'The task cannot be offered or claimed until it is moved to an open status.';
  return reasons[code] ?? `${code.replaceAll('_', ' ')}.`;
}
