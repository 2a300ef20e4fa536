import type { JournalEvent, ProcessDefinition, ProcessInstance } from '@baton/sdk';

/** The state of a step, as it is shown. Its colour follows from it. */
export type StepState = 'pending' | 'active' | 'waiting' | 'late' | 'done' | 'failed' | 'stopped';

export interface Step {
  readonly id: string;
  /** The kind of the step in its definition, for example `call` or `approve`. */
  readonly kind: string;
  readonly state: StepState;
  /** The task that its newest attempt has created, if known. */
  readonly taskId?: string;
}

export interface Stage {
  readonly id: string;
  readonly state: string;
  readonly steps: readonly Step[];
}

type Document = Record<string, unknown>;
/** Members of a step other than the one that names its kind. */
const settings = new Set([
  'id',
  'when',
  'export',
  'due',
  'escalations',
  'onError',
  'retry',
  'undo',
  'displayName',
]);
const depthMax = 8;

const objects = (value: unknown): Document[] =>
  Array.isArray(value) ? value.filter((one): one is Document => typeof one === 'object' && one !== null) : [];

/** The steps of a document; nested steps follow their parent. */
function stepsIn(steps: unknown, depth = 0): Document[] {
  if (depth > depthMax) return [];
  return objects(steps).flatMap((step) => [
    ...(typeof step['id'] === 'string' ? [step] : []),
    ...Object.values(step).flatMap((inner) => [
      ...stepsIn(inner, depth + 1),
      ...(typeof inner === 'object' && inner !== null && !Array.isArray(inner)
        ? Object.values(inner).flatMap((deeper) => stepsIn(deeper, depth + 1))
        : []),
    ]),
  ]);
}

/** The stages of a process with their steps, and the state of each in an instance, derived from its events. */
export function stagesOf(
  definition: ProcessDefinition,
  instance?: ProcessInstance,
  events: readonly JournalEvent[] = [],
): Stage[] {
  const states = new Map<string, StepState>();
  const tasks = new Map<string, string>();
  for (const { type, payload } of events) {
    const element = String(payload['element']);
    if (typeof payload['taskId'] === 'string') tasks.set(element, payload['taskId']);
    if (type === 'process.step_entered') states.set(element, 'active');
    if (type === 'process.step_exited') states.set(element, exits[String(payload['outcome'])] ?? 'stopped');
  }
  const taskOf = (id: string) => open.get(id)?.taskId ?? tasks.get(id);
  const open = new Map(instance?.openElements.map((element) => [element.id, element]));
  const stateOf = (id: string): StepState => {
    if (instance?.suspension?.element === id) return 'failed';
    const element = open.get(id);
    if (element?.slaState === 'breached') return 'late';
    if (element !== undefined) return element.approvalIds.length > 0 ? 'waiting' : 'active';
    return states.get(id) ?? 'pending';
  };
  return objects(definition.spec['stages']).map((stage) => {
    const id = String(stage['id']);
    return {
      id,
      state: instance?.stages.find((one) => one.id === id)?.state ?? '',
      steps: stepsIn(stage['steps']).map((step) => {
        const stepId = String(step['id']);
        const taskId = taskOf(stepId);
        return {
          id: stepId,
          kind: Object.keys(step).find((name) => !settings.has(name)) ?? 'step',
          state: stateOf(stepId),
          ...(taskId && { taskId }),
        };
      }),
    };
  });
}

const exits: Readonly<Record<string, StepState>> = {
  completed: 'done',
  migrated: 'done',
  failed: 'failed',
  timed_out: 'failed',
};
