import type { TaskClaimability } from '@baton/sdk';
import { invocation } from '../../../../bin/invocation.mjs';

type Reason = TaskClaimability['reasons'][number];
type Remedy = Reason['remedies'][number];

/** The name of a principal; its id if the name can't be read. */
export type NameOf = (principalId: string) => string;

/** The reasons why a task can't be taken, as sentences, each followed by possible actions. */
export function whyLines(
  ref: string,
  { claimable, reasons }: Pick<TaskClaimability, 'claimable' | 'reasons'>,
  nameOf: NameOf,
): string[] {
  const notes = reasons.flatMap((reason) => [
    sentenceOf(reason, nameOf) + (reason.since === null ? '' : ` Since ${reason.since}.`),
    ...reason.remedies.map((remedy) => remedyLine(ref, reason, remedy)),
  ]);
  if (claimable) return [`${ref} can be taken now: ${invocation()} work take ${ref}`, ...notes];
  return [`${ref} can't be taken.`, ...notes];
}

interface Details extends Reason {
  readonly status?: string;
  readonly systemStatusCategory?: string;
  readonly availableAt?: string;
  readonly missingRoles?: readonly string[];
  readonly missingCapabilities?: readonly string[];
  readonly missingSkills?: readonly string[];
  readonly addressee?: object | null;
  readonly blockedBy?: readonly {
    readonly taskId: string;
    readonly publicId: string;
    readonly status: string;
  }[];
  readonly blockedOutOfSight?: number;
  readonly missing?: readonly unknown[];
  readonly pendingApprovals?: readonly string[];
  readonly verificationId?: string;
  readonly holderId?: string;
  readonly expiresAt?: string;
}

function sentenceOf(reason: Details, nameOf: NameOf): string {
  switch (reason.code) {
    case 'task_not_claimable':
      return reason.systemStatusCategory === 'blocked'
        ? `It is blocked: its status is ${reason.status}, and it isn't available until somebody changes its status.`
        : `It has ended: its status is ${reason.status}.`;
    case 'not_before':
    case 'task_not_due':
      return holdUntil(reason);
    case 'not_eligible':
      return `It is not for you: ${lackOf(reason, nameOf)}.`;
    case 'task_not_ready':
      return `It waits for other tasks: ${prerequisitesIn(reason)}.`;
    case 'input_missing':
      return `It needs an input that nobody has recorded: ${(reason.missing ?? []).map(textOf).join(', ')}.`;
    case 'approval_required':
      return `It waits for a decision: ${(reason.pendingApprovals ?? []).join(', ') || 'an approval that you do not see'}.`;
    case 'verification_pending':
      return `Its completion was requested, and its checks are being verified (${reason.verificationId}).`;
    case 'task_already_claimed':
      return `${nameOf(reason.holderId ?? 'Somebody')} holds it until ${reason.expiresAt}, unless the holder extends the lease.`;
    case 'project_archived':
      return 'Its project is archived, so its tasks are not offered.';
    case 'no_eligible_principal':
      return 'No active principal meets all its requirements.';
    default:
      return `${reason.code.charAt(0).toUpperCase()}${reason.code.slice(1).replaceAll('_', ' ')}.`;
  }
}

/** Explains until when the task is held back. The possible actions show whether by a pause or by a start date. */
function holdUntil({ availableAt, remedies }: Details): string {
  const [pauses, starts] = ['make_available', 'change_start_date'].map((act) =>
    remedies.some((remedy) => remedy.act === act),
  );
  if (pauses && availableAt?.startsWith('9999-'))
    return 'Its attempts have failed, so it is paused until somebody ends the pause.';
  if (pauses && !starts) return `It is paused until ${availableAt}, because an attempt failed.`;
  if (starts && !pauses) return `It starts at ${availableAt}, and can't be taken before.`;
  return `It can be taken from ${availableAt} on. Its start date is in the future, or an attempt failed.`;
}

function lackOf(reason: Details, nameOf: NameOf): string {
  const lacks = [
    ['the role', reason.missingRoles],
    ['the capability', reason.missingCapabilities],
    ['the skill', reason.missingSkills],
  ] as const;
  const missing = lacks.flatMap(([kind, names = []]) => names.map((name) => `you lack ${kind} ${name}`));
  const { principalId, agentKey, roleId } = (reason.addressee ?? {}) as Record<string, string | undefined>;
  const addressee =
    principalId !== undefined
      ? nameOf(principalId)
      : agentKey !== undefined
        ? `the agent ${agentKey}`
        : roleId !== undefined
          ? `the role ${roleId}`
          : 'somebody who does not exist';
  return [
    ...missing,
    ...(reason.addressee === undefined ? [] : [`its process assigned it to ${addressee}`]),
  ].join('; ');
}

/** The prerequisites that are not completed, as `TASK-1 (todo)`. */
export function prerequisitesIn({ blockedBy = [], blockedOutOfSight: hidden = 0 }: Details): string {
  return [
    ...blockedBy.map(({ publicId, status }) => `${publicId} (${status})`),
    ...(hidden === 0 ? [] : [`${hidden} that you do not see`]),
  ].join(', ');
}

const textOf = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value));

const acts: Readonly<Record<string, string>> = {
  reopen: 'open it again',
  unblock: 'unblock it',
  complete_prerequisite: 'complete the prerequisite',
  remove_relation: 'remove the dependency',
  record_input: 'record the input',
  cancel_approval: 'cancel the approval request',
  read_verifications: 'see the verifications',
  release_claim: 'end the lease',
  restore_project: 'restore the project',
  make_available: 'end the pause',
  change_start_date: 'change its start date',
  assign_role: 'assign the role',
  assign_capability: 'assign the capability',
  assign_skill: 'assign the skill',
  change_requirements: 'change what it requires',
};

function remedyLine(
  ref: string,
  { blockedBy = [] }: Details,
  { act, method, path, permission, allowed }: Remedy,
): string {
  const words = acts[act] ?? act.replaceAll('_', ' ');
  const [, id = ''] = /^\/\w+\/([^/:]+)/.exec(path) ?? [];
  const prerequisite = blockedBy.find(({ taskId }) => taskId === id)?.publicId;
  return `  ${words}: ${commandOf(ref, act, method, path, prerequisite ?? id)}${allowed ? '' : ` (needs ${permission}, which you lack)`}`;
}

/** The command for an action, or the API call if it has no command. @param id of the action's object */
function commandOf(ref: string, act: string, method: string, path: string, id: string): string {
  if (act === 'reopen' || act === 'unblock') return `${invocation()} task edit ${ref} --status STATUS`;
  if (act === 'change_start_date') return `${invocation()} task edit ${ref} --start TIME`;
  if (act === 'make_available') return `${invocation()} task make-available ${ref}`;
  if (act === 'complete_prerequisite') return `${invocation()} task close ${id}`;
  if (act === 'approve') return `${invocation()} approval approve ${id}`;
  if (act === 'release_claim') return `${invocation()} claim release ${id}`;
  if (act === 'record_input') return `${invocation()} artifact create NAME FILE --task ${ref}`;
  return `${invocation()} api ${method} ${path}`;
}
