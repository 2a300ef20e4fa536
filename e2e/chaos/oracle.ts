import type { Deliveries } from './deliveries.ts';
import type { StoredEvent } from './journal-table.sql.ts';

/** The outcome of the writers' transactions and commands. */
export interface Writing {
  /** Events of transactions with a confirmed COMMIT. */
  readonly committed: Set<string>;
  /** Events of transactions that were rolled back. */
  readonly rolledBack: Set<string>;
  /**
   * Transactions whose connection ended during COMMIT: either outcome is valid, if it is the same for all of a
   * transaction's events.
   */
  readonly unknown: (readonly string[])[];
  /** Successful commands: the event that each must have written, exactly once. */
  readonly answered: { readonly type: string; readonly entityId: string }[];
  /** Commands without a response, with the event that each would have written. */
  readonly unanswered: { readonly type: string; readonly entityId: string }[];
}

const shownMax = 3;

/**
 * Checks that a consumer has every committed event of its tenant and filter exactly once, in the promised order, and
 * no other event.
 * @param stored all committed events, in the journal's order
 * @returns one line per problem
 */
export function checkConsumer(deliveries: Deliveries, stored: readonly StoredEvent[]): string[] {
  const { tenantId, wants, isOrdered, faults } = deliveries;
  const ids = deliveries.inOrder();
  const expected = stored.filter((event) => event.tenant_id === tenantId && wants(event)).map(({ id }) => id);
  const committed = new Set(expected);
  const missing = expected.filter((id) => !deliveries.has(id));
  const foreign = ids.filter((id) => !committed.has(id));
  const problems = [...faults];
  if (expected.length === 0) problems.push('there was nothing to consume');
  if (missing.length > 0) problems.push(`misses ${some(missing)}`);
  if (foreign.length > 0) problems.push(`received events that are not in the journal: ${some(foreign)}`);
  if (new Set(ids).size !== ids.length) problems.push('has repeats after the dedup');
  if (isOrdered && !isSubsequence(ids, expected)) problems.push('received events out of order');
  return problems.map((problem) => `${deliveries.name}: ${problem}`);
}

/** Whether the expected events in `ids` are in the order of `expected`; gaps are reported separately. */
function isSubsequence(ids: readonly string[], expected: readonly string[]): boolean {
  const place = new Map(expected.map((id, index) => [id, index]));
  let last = -1;
  for (const id of ids) {
    const at = place.get(id);
    if (at === undefined) continue;
    if (at < last) return false;
    last = at;
  }
  return true;
}

/** Checks that the journal contains the confirmed events of the writers, and none of the rolled-back ones. */
export function checkJournal(stored: readonly StoredEvent[], writing: Writing): string[] {
  const ids = new Set(stored.map(({ id }) => id));
  const lost = [...writing.committed].filter((id) => !ids.has(id));
  const undead = [...writing.rolledBack].filter((id) => ids.has(id));
  const torn = writing.unknown.filter((events) => new Set(events.map((id) => ids.has(id))).size > 1);
  const problems: string[] = [];
  if (ids.size !== stored.length) problems.push('an id occurs twice');
  if (lost.length > 0) problems.push(`lost what was committed: ${some(lost)}`);
  if (undead.length > 0) problems.push(`holds what was rolled back: ${some(undead)}`);
  if (torn.length > 0) problems.push(`holds parts of ${torn.length} transactions`);
  problems.push(...judgeCommands(stored, writing));
  return problems.map((problem) => `the journal: ${problem}`);
}

function judgeCommands(stored: readonly StoredEvent[], { answered, unanswered }: Writing): string[] {
  const keyOf = (type: string, entityId: string) => `${type} of ${entityId}`;
  const count = (all: Iterable<string>) => {
    const counts = new Map<string, number>();
    for (const key of all) counts.set(key, (counts.get(key) ?? 0) + 1);
    return counts;
  };
  const keysOf = (commands: Writing['answered']) =>
    count(commands.map(({ type, entityId }) => keyOf(type, entityId)));
  const found = count(stored.map(({ type, entity_id }) => keyOf(type, entity_id)));
  const [wanted, open] = [keysOf(answered), keysOf(unanswered)];
  const wrong = [...wanted].filter(([key, least]) => {
    const times = found.get(key) ?? 0;
    return times < least || times > least + (open.get(key) ?? 0);
  });
  return wrong.length === 0
    ? []
    : [
        `${wrong.length} answered commands have not left their event exactly once: ${wrong
          .slice(0, shownMax)
          .map(([key, least]) => `${key}: ${found.get(key) ?? 0} instead of ${least}`)
          .join(', ')}`,
      ];
}

function some(ids: readonly string[]): string {
  return `${ids.length} (${ids.slice(0, shownMax).join(', ')}${ids.length > shownMax ? ', …' : ''})`;
}
