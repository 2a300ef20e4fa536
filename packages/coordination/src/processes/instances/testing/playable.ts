import type { Spec } from '@baton/process-engine/engine/testing/random-definitions';

/** Random definitions of processes that the service can publish and run within a second. */

/** The objects that the steps of a definition need in the tenant. */
export interface World {
  readonly agentKey: string;
  readonly taskType: string;
  /** `name@version` */
  readonly skill: string;
  /** The approvers. */
  readonly voters: readonly string[];
}

/**
 * The short duration that replaces each duration of a definition; steps of ten minutes stay open throughout the test.
 */
const played: Record<string, string> = {
  PT1S: 'PT0.05S',
  PT5S: 'PT0.1S',
  PT7S: 'PT0.05S',
  PT10S: 'PT0.1S',
  PT20S: 'PT0.05S',
  PT30S: 'PT0.3S',
  PT60S: 'PT0.2S',
};

/** The definition with durations that are short enough for the test. */
export function shortened(spec: Spec): Spec {
  const text = JSON.stringify(spec, (_, value: unknown) =>
    typeof value === 'string' ? (played[value] ?? value) : value,
  );
  return JSON.parse(text) as Spec;
}

const events = ['ping.one', 'ping.two'];

/** The kind of observation that represents an event of a random definition. */
export const kindOf = (event: string, instanceKey: string) => `${event}.${instanceKey}`;

/** @returns the event that an observation of the kind represents */
export function eventOf(kind: unknown, instanceKey: string): string {
  return events.find((event) => kindOf(event, instanceKey) === kind) ?? String(kind);
}

/** Returns the definition to publish for one with shortened durations, using existing events, people and a skill. */
export function publishable(
  spec: Spec,
  instanceKey: string,
  { agentKey, taskType, skill, voters }: World,
): object {
  const mend = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(mend);
    if (value === null || typeof value !== 'object') return value;
    const mended = Object.fromEntries(
      Object.entries(value).map(([name, one]) => {
        if (name === 'approvers') return [name, voters.map((principal) => ({ principal }))];
        if (name === 'to' && Array.isArray(one)) return [name, [{ principal: voters[0] }]];
        if (name === 'skill') return [name, skill];
        if (name === 'taskType') return [name, taskType];
        return [name, mend(one)];
      }),
    );
    const { event, ...rest } = mended;
    if (typeof event === 'string') return { observation: kindOf(event, instanceKey), ...rest };
    return 'on' in mended && 'key' in mended ? { ...mended, key: `'${instanceKey}'` } : mended;
  };
  const properties = Object.fromEntries([...'nxyz', 'stop', 'go', 'at'].map((name) => [name, {}]));
  return {
    version: 1,
    displayName: 'At random',
    identity: { agent: agentKey },
    data: { type: 'object', properties },
    start: { on: { observation: 'never' }, key: 'event.id' },
    ...(mend(spec) as object),
  };
}

interface Problem {
  readonly code: string;
  readonly path: string;
}

type Stage = { entry?: string; repeatable?: boolean };

/**
 * Removes unreachable elements from a definition, because otherwise it could not be published.
 * @throws Error for any other kind of problem
 */
export function withoutProblems(spec: Spec, problems: readonly Problem[]): Spec {
  const mended = structuredClone(spec);
  const at = (names: readonly string[]) =>
    names.reduce((value: any, name) => value?.[name], mended as unknown);
  for (const { code, path } of problems) {
    const names = path.split('/').slice(1);
    const stage = at(names) as Stage | undefined;
    // Already removed: its list was truncated for an earlier problem.
    if (stage === undefined) continue;
    if (code === 'unreachable_step') at(names.slice(0, -1)).splice(Number(names.at(-1)));
    else if (code === 'unreachable_stage') stage.entry = 'data.n < 2';
    else if (code === 'dead_end') stage.repeatable = false;
    else throw new Error(`${code} at ${path}`);
  }
  return mended;
}
