import { etagOf } from '@baton/sdk';
import { baton } from '../client.ts';
import { endReasons } from './lease-ends.ts';

/** What removes a reason, as the API names it. */
export interface Remedy {
  readonly act: string;
  readonly path: string;
}

interface Act {
  /** On the button. */
  readonly words: string;
  /** Asked before it is done, where it takes something from somebody. */
  readonly question?: string;
  /** @param ids those in the path, in its order */
  readonly run: (ids: readonly string[]) => Promise<unknown>;
}

/** @returns the approval that a remedy gives: nobody gives it without having seen what it is about */
export function approvalOf({ act, path }: Remedy): string | undefined {
  return act === 'approve' ? idsIn(path)[0] : undefined;
}

/** The acts that need nothing more than a click. The others take a form: they are told in words. */
const acts: Readonly<Record<string, Act>> = {
  release_claim: {
    words: 'End the lease',
    question: 'Whoever holds the task loses it at once, and what they write afterwards is refused.',
    run: ([claimId = '']) => baton.claims.release(claimId, { reason: endReasons.ended }),
  },
  cancel_approval: {
    words: 'Take the request back',
    question: 'The task goes on without this decision.',
    run: ([id = '']) => baton.approvals.cancel(id),
  },
  complete_prerequisite: {
    words: 'Complete what it waits for',
    question: 'The task that it waits for counts as done.',
    async run([taskId = '']) {
      const task = await baton.tasks.get(taskId);
      return baton.tasks.complete(taskId, {}, { ifMatch: etagOf(task) });
    },
  },
  make_available: {
    words: 'Make it available now',
    run: ([taskId = '']) => baton.tasks.makeAvailable(taskId),
  },
  remove_relation: {
    words: 'Stop waiting for it',
    question: 'The task no longer waits for the other one.',
    run: ([taskId = '', relationId = '']) => baton.tasks.deleteRelation(taskId, relationId),
  },
};

/** What a click does, with the ids of the remedy's path; undefined for a remedy that takes more than a click. */
export function actOf({ act, path }: Remedy): (Omit<Act, 'run'> & { run(): Promise<unknown> }) | undefined {
  const known = acts[act];
  return known && { ...known, run: () => known.run(idsIn(path)) };
}

const idsIn = (path: string): readonly string[] => path.match(/[\da-f]{8}-[\da-f-]{27}/g) ?? [];

const words: Readonly<Record<string, string>> = {
  approve: 'Approve',
  reopen: 'Move it to an open status, above.',
  unblock: 'Move it to an open status, above.',
  change_start_date: 'It starts then: give it an earlier start date to offer it now.',
  record_input: 'Publish the artifact that it needs.',
  read_verifications: 'Its checks are being done; they stand under Done when.',
  assign_role: 'Give yourself the role that it asks for, in Administration.',
  assign_capability: 'Have the capability that it asks for assigned to you.',
  assign_skill: 'Have the skill that it asks for assigned to you.',
  change_requirements: 'Change what it asks of whoever takes it.',
};

/** What to do where a click is not enough. */
export const adviceOf = ({ act }: Remedy): string => words[act] ?? `${act.replaceAll('_', ' ')}.`;

const reasons: Readonly<Record<string, string>> = {
  task_not_claimable: 'It is over, or its status is not one in which tasks are taken.',
  task_already_claimed: 'Somebody holds it.',
  task_not_ready: 'It waits for other tasks.',
  input_missing: 'An input is missing.',
  approval_required: 'It waits for an approval.',
  verification_pending: 'Its checks are not over.',
  not_eligible: 'You lack what it asks of whoever takes it.',
  project_archived: 'Its project is archived.',
  no_eligible_principal: 'Nobody who is active has what it asks for.',
};

/** @param details of the reason, besides its code */
export function reasonOf(code: string, details: Readonly<Record<string, unknown>> = {}): string {
  if (code === 'task_not_claimable' && details['systemStatusCategory'] === 'blocked')
    return 'Nobody is offered it, and nobody can take it, until somebody moves it to an open status.';
  return reasons[code] ?? `${code.replaceAll('_', ' ')}.`;
}
