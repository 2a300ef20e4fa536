import fc from 'fast-check';
import type { Json, JsonObject } from '@baton/values/wire';

/** Random definitions of processes, in the format of organisation 15.2 and 28. Durations are `PT<seconds>S`. */

export type Given = Json;
type Set = { readonly [field: string]: string };
type When = string | { readonly at: string };
interface Due {
  readonly duration?: string;
  readonly at?: string;
  readonly warnBefore?: string;
}
interface Escalation {
  readonly after: string;
  readonly action: string;
  readonly error?: { readonly type: string };
}

export interface StepSpec {
  readonly id: string;
  readonly when?: string;
  readonly export?: { readonly as: string | Set };
  readonly onCompensate?: readonly StepSpec[];
  readonly human?: Duties & { readonly taskType: string; readonly title: string };
  readonly approve?: Duties & {
    readonly approvers: readonly object[];
    readonly quorum: 'all' | 'any' | { readonly atLeast: number } | { readonly percent: number };
    readonly mode: string;
    readonly earlyDecision?: boolean;
    readonly separationOfDuties?: boolean;
    readonly onDue?: string;
  };
  readonly call?: Duties & { readonly skill: string; readonly timeout?: string };
  readonly decide?: { readonly table: string };
  readonly wait?: When;
  readonly set?: Set;
  readonly listen?: {
    readonly any: readonly { readonly event: string }[];
    readonly timeout?: string;
    readonly onTimeout?: readonly StepSpec[];
  };
  readonly raise?: { readonly type: string };
  readonly compensate?: 'all' | readonly string[];
  readonly fork?: {
    readonly mode?: string;
    readonly branches: readonly { readonly id: string; readonly do: readonly StepSpec[] }[];
  };
  readonly try?: {
    readonly do: readonly StepSpec[];
    readonly retry?: {
      readonly limit: number;
      readonly delay: string;
      readonly backoff: string;
      readonly on?: readonly string[];
    };
    readonly catch?: readonly { readonly on?: readonly string[]; readonly do: readonly StepSpec[] }[];
  };
  readonly do?: readonly StepSpec[];
  readonly suspend?: object;
  readonly complete?: { readonly outcome: string };
}
interface Duties {
  readonly due?: Due;
  readonly escalations?: readonly Escalation[];
}
export interface TimerSpec {
  readonly id: string;
  readonly at: string;
  readonly interrupting?: boolean;
  readonly do: readonly StepSpec[];
}
export interface Spec {
  readonly stages: readonly {
    readonly id: string;
    readonly entry?: string;
    readonly exit?: string;
    readonly repeatable?: boolean;
    readonly steps: readonly StepSpec[];
    readonly discretionary?: readonly StepSpec[];
    readonly milestones?: readonly { readonly id: string; readonly when: string }[];
    readonly timers?: readonly TimerSpec[];
  }[];
  readonly timers?: readonly TimerSpec[];
  readonly correlate?: readonly {
    readonly on: { readonly event: string };
    readonly key: string;
    readonly set?: Set;
    readonly do?: readonly StepSpec[];
  }[];
  readonly onEvent?: readonly {
    readonly on: { readonly event: string };
    readonly key: string;
    readonly do: readonly StepSpec[];
  }[];
  readonly due?: Due;
  readonly decisions?: readonly {
    readonly id: string;
    readonly hitPolicy: string;
    readonly inputs: readonly object[];
    readonly outputs: readonly object[];
    readonly rules: readonly { readonly when: readonly string[]; readonly then: readonly string[] }[];
  }[];
}

type Meaning = (data: JsonObject, status?: string) => Json;
const firstInstant = '2026-03-02T08:10:00.000Z';
const secondInstant = '2026-03-02T09:00:00.000Z';
/** Replaces expressions wherever a certain type is required. */
const fixed = `timestamp('${firstInstant}')`;
const n = (data: JsonObject) => data['n'] as number;
const conditions: Record<string, Meaning> = {
  true: () => true,
  false: () => false,
  'data.n == 1': (data) => n(data) === 1,
  'data.n > 2': (data) => n(data) > 2,
  'data.n < 2': (data) => n(data) < 2,
  'data.go == true': (data) => data['go'] === true,
  'data.stop == true': (data) => data['stop'] === true,
};
const numbers: Record<string, Meaning> = {
  '0': () => 0,
  '1': () => 1,
  '3': () => 3,
  'data.n + 1': (data) => n(data) + 1,
};
const words: Record<string, Meaning> = {
  "'p'": () => 'p',
  'data.n * 10': (data) => n(data) * 10,
  'data.x': (data) => data['x'] ?? null,
};
const instants: Record<string, Meaning> = {
  null: () => null,
  [`'${firstInstant}'`]: () => firstInstant,
  [`'${secondInstant}'`]: () => secondInstant,
};
const meanings: Record<string, Meaning> = {
  ...conditions,
  ...numbers,
  ...words,
  ...instants,
  'data.at': (data) => data['at'] ?? null,
  [fixed]: () => firstInstant,
  'step.status': (_, status) => status ?? null,
};

/** Computes the value of a random definition's expression without an expression evaluator. */
export function apply(text: string, data: JsonObject, status?: string): Json {
  const meaning = meanings[text];
  if (meaning === undefined) throw new Error(`no meaning of ${text}`);
  return meaning(data, status);
}

const oneOfTexts = (of: Record<string, Meaning>) => fc.constantFrom(...Object.keys(of));
const maybe = <Key extends string, Value>(key: Key, value: fc.Arbitrary<Value>, freq = 3) =>
  fc.option(value, { freq, nil: undefined }).map((given) => (given === undefined ? {} : { [key]: given }));
const all = (...parts: fc.Arbitrary<object>[]) =>
  fc.tuple(...parts).map((given) => Object.assign({}, ...given) as object);

const condition = oneOfTexts(conditions);
const set = fc.oneof(
  oneOfTexts(numbers).map((text) => ({ n: text })),
  oneOfTexts(conditions).map((text) => ({ go: text })),
  oneOfTexts(conditions).map((text) => ({ stop: text })),
  oneOfTexts(words).map((text) => ({ x: text })),
  oneOfTexts(words).map((text) => ({ y: text })),
  oneOfTexts(instants).map((text) => ({ at: text })),
);
const seconds = fc.constantFrom('PT5S', 'PT30S', 'PT600S');
const errorType = fc.constantFrom('bad', 'worse', 'timeout', 'task_cancelled', 'no_rights');
const errorTypes = fc.uniqueArray(errorType, { minLength: 1, maxLength: 3 });
const due = fc
  .tuple(
    fc.oneof(
      seconds.map((duration) => ({ duration })),
      fc.constant({ at: 'data.at' }),
    ),
    maybe('warnBefore', fc.constantFrom('PT1S', 'PT20S'), 1),
  )
  .map(([when, warning]) => ({ ...when, ...warning }));
const escalations = fc.array(
  fc
    .tuple(fc.constantFrom('due', 'PT10S', 'PT60S'), fc.constantFrom('notify', 'remind', 'raise'))
    .map(([after, action]) => ({
      after,
      action,
      ...(action === 'raise' ? { error: { type: 'bad' } } : { to: [{ role: 'boss' }] }),
    })),
  { maxLength: 2 },
);
const duties = all(maybe('due', due), maybe('escalations', escalations));
const event = fc.constantFrom('ping.one', 'ping.two');
const exports = maybe(
  'export',
  fc.oneof(
    fc.constantFrom({ as: 'y' }, { as: 'z' }),
    oneOfTexts(instants).map((text) => ({ as: { at: text } })),
    fc.constant({ as: { n: 'data.n + 1', x: 'step.status' } }),
  ),
);
const lists = (step: fc.Arbitrary<object>, maxLength = 3) => fc.array(step, { minLength: 1, maxLength });

const leaf = fc.oneof(
  {
    weight: 5,
    arbitrary: all(duties).map((human) => ({ human: { taskType: 'task', title: 'Do', ...human } })),
  },
  { weight: 4, arbitrary: set.map((fields) => ({ set: fields })) },
  {
    weight: 3,
    arbitrary: all(
      duties,
      fc
        .oneof(
          fc.constantFrom('all', 'any'),
          fc.integer({ min: 1, max: 4 }).map((atLeast) => ({ atLeast })),
          fc.constantFrom(1, 33, 34, 50, 67, 100).map((percent) => ({ percent })),
        )
        .map((quorum) => ({ quorum })),
      fc.constantFrom('parallel', 'sequential').map((mode) => ({ mode })),
      maybe('earlyDecision', fc.boolean()),
      maybe('separationOfDuties', fc.boolean()),
      maybe('onDue', fc.constantFrom('approve', 'reject', 'escalate')),
    ).map((approve) => ({ approve: { approvers: [{ role: 'judge' }], ...approve } })),
  },
  {
    weight: 2,
    arbitrary: all(maybe('timeout', seconds), maybe('due', due)).map((call) => ({
      call: { skill: 'tool@1', ...call },
    })),
  },
  { weight: 2, arbitrary: fc.oneof(seconds, fc.constant({ at: 'data.at' })).map((wait) => ({ wait })) },
  { weight: 2, arbitrary: errorType.map((type) => ({ raise: { type } })) },
  { weight: 2, arbitrary: fc.constantFrom('first', 'every').map((table) => ({ decide: { table } })) },
  { weight: 1, arbitrary: fc.constant({ compensate: 'all' }) },
  { weight: 1, arbitrary: fc.constant({ suspend: {} }) },
  { weight: 1, arbitrary: fc.constantFrom('good', 'odd').map((outcome) => ({ complete: { outcome } })) },
  {
    weight: 2,
    arbitrary: all(
      fc
        .array(
          event.map((one) => ({ event: one })),
          { minLength: 1, maxLength: 2 },
        )
        .map((any) => ({ any })),
      maybe('timeout', seconds, 1),
    ).map((listen) => ({ listen })),
  },
);

/** Steps for use inside compensation steps: they can wait, and compensate nothing themselves. */
const undoing = fc.oneof(
  { weight: 3, arbitrary: set.map((fields) => ({ set: fields })) },
  { weight: 2, arbitrary: fc.constant({ human: { taskType: 'task', title: 'Undo' } }) },
  { weight: 1, arbitrary: seconds.map((wait) => ({ wait })) },
  { weight: 1, arbitrary: errorType.map((type) => ({ raise: { type } })) },
);

const { step } = fc.letrec<{ step: object; inner: object }>((tie) => ({
  inner: fc.oneof(
    { maxDepth: 3, depthIdentifier: 'steps' },
    leaf,
    lists(tie('step')).map((steps) => ({ do: steps })),
    all(
      fc.constantFrom('all', 'compete').map((mode) => ({ mode })),
      fc.array(lists(tie('step')), { minLength: 2, maxLength: 3 }).map((branches) => ({ branches })),
    ).map((fork) => ({ fork })),
    all(
      lists(tie('step')).map((steps) => ({ do: steps })),
      maybe(
        'retry',
        all(
          fc.integer({ min: 1, max: 2 }).map((limit) => ({ limit })),
          fc.constantFrom('PT0S', 'PT7S').map((delay) => ({ delay })),
          fc.constantFrom('constant', 'exponential').map((backoff) => ({ backoff })),
          maybe('on', errorTypes),
        ),
        1,
      ),
      maybe(
        'catch',
        fc.array(
          all(
            maybe('on', errorTypes, 1),
            lists(tie('step'), 2).map((steps) => ({ do: steps })),
          ),
          { maxLength: 2 },
        ),
        1,
      ),
    ).map((one) => ({ try: one })),
    all(
      event.map((one) => ({ any: [{ event: one }] })),
      seconds.map((timeout) => ({ timeout })),
      lists(tie('step'), 2).map((onTimeout) => ({ onTimeout })),
    ).map((listen) => ({ listen })),
  ),
  step: all(tie('inner'), maybe('when', condition, 6), exports, maybe('onCompensate', lists(undoing, 2), 4)),
}));
const steps = lists(step, 4);

const timers = fc.array(
  all(
    fc.constantFrom('data.at', fixed).map((at) => ({ at })),
    maybe('interrupting', fc.boolean()),
    lists(step, 2).map((list) => ({ do: list })),
  ),
  { maxLength: 1 },
);

const stage = all(
  maybe('entry', condition, 4),
  maybe('exit', condition, 5),
  maybe('repeatable', fc.boolean()),
  steps.map((list) => ({ steps: list })),
  maybe(
    'discretionary',
    fc.array(
      all(
        step,
        condition.map((when) => ({ when })),
      ),
      { minLength: 1, maxLength: 2 },
    ),
    5,
  ),
  maybe(
    'milestones',
    condition.map((when) => [{ when }]),
    4,
  ),
  maybe('timers', timers, 5),
);

const rules = fc.array(
  // oxlint-disable-next-line unicorn/no-thenable -- the wire name of a row's outputs
  fc.tuple(condition, oneOfTexts(numbers)).map(([when, value]) => ({ when: [when], ['then']: [value] })),
  { minLength: 1, maxLength: 3 },
);

const input = { id: 'seen', expr: 'data.n' };

/** Definitions in which each element has a unique id. */
export const definitions: fc.Arbitrary<Spec> = all(
  fc.array(stage, { minLength: 1, maxLength: 3 }).map((stages) => ({ stages })),
  maybe('timers', timers, 4),
  maybe(
    'correlate',
    fc.array(
      all(
        event.map((one) => ({ on: { event: one }, key: 'event.id' })),
        maybe('set', set, 1),
        maybe('do', lists(step, 2), 1),
      ),
      { minLength: 1, maxLength: 2 },
    ),
    3,
  ),
  maybe(
    'onEvent',
    fc.array(
      all(
        event.map((one) => ({ on: { event: one }, key: 'event.id' })),
        lists(step, 2).map((list) => ({ do: list })),
      ),
      { minLength: 1, maxLength: 1 },
    ),
    4,
  ),
  maybe('due', due, 4),
  fc.tuple(rules, rules).map(([first, every]) => ({
    decisions: [
      { id: 'first', hitPolicy: 'first', inputs: [input], outputs: [{ id: 'out' }], rules: first },
      { id: 'every', hitPolicy: 'collect', inputs: [input], outputs: [{ id: 'out' }], rules: every },
    ],
  })),
).map((spec) => named(spec) as Spec);

/**
 * Ids for stages, steps, branches, milestones and timers. Their sorted order differs from the order in the document,
 * because PostgreSQL sorts the members of a document.
 */
function named(spec: object): object {
  let last = 0;
  const id = () => {
    last += 1;
    return `e${(last * 383) % 1009}`;
  };
  const lists: Record<string, true> = {
    stages: true,
    steps: true,
    discretionary: true,
    do: true,
    onTimeout: true,
    onCompensate: true,
    milestones: true,
    timers: true,
  };
  const walk = (value: unknown, key: string): unknown => {
    if (Array.isArray(value)) {
      if (key === 'branches') return value.map((list) => ({ id: id(), do: walk(list, 'do') }));
      if (lists[key] === true) return value.map((one) => ({ id: id(), ...(walk(one, '') as object) }));
      return value.map((one) => walk(one, ''));
    }
    if (value === null || typeof value !== 'object') return value;
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, walk(one, name)]));
  };
  return walk(spec, '') as object;
}
