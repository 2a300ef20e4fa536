import type { EventRow } from '../../ledger/journal/event.ts';
import { isBehind, positionOf } from '../../ledger/journal/read-pages.ts';
import { DecidedPermissions } from '../../service/permissions.ts';
import { type AgentsOfPrincipals, type Cause, causeOfEvent, findAuthors, isCausedBy } from '../acts/cause.ts';
import type { RuleRow } from '../catalog/rule.ts';
import { ruleConsumer } from '../catalog/rules.ts';
import type { Context } from '../context.ts';
import { readsRoot } from '../documents/warnings.ts';
import {
  type EventPage,
  failuresAt,
  findPlace,
  isSamePlace,
  lockPlace,
  moveTo,
  postponeTurn,
  readEvents,
  removeCursor,
  type TurnRow,
} from '../journal-turns/turns.ts';
import { type Authorities, lockAuthorities } from './authorities.ts';
import { findEnabledRules, hasEnabledRules, shareRules } from './enabled-rules.sql.ts';
import { type EvaluationOutcome, evaluateRule, recordFailure, turnMsMax } from './evaluate-rule.ts';
import { updatePendingToDue } from './evaluations.sql.ts';
import { continueItems } from './pending-evaluations.ts';
import { runInSavepoint } from './savepoint.ts';

/** Maximum number of evaluations per turn; a turn also ends after `turnMsMax`. */
const evaluationsMax = 100;

/**
 * One turn of a tenant: its rules evaluate the next events, and its cursor moves past them, in one transaction
 * (docs/reference/rules.md#evaluations). Locks the acting principals first, then the turn, then the rules.
 * @returns whether more events may be due; also false if another process has locked the tenant's turn
 * @throws AuthorityChanged
 */
export async function takeTurn(context: Context): Promise<boolean> {
  const { db, tenantId } = context;
  const before = await findPlace(context, ruleConsumer);
  if (before === undefined) return false;
  const read = await readEvents(context, before, context.settings.CP_RULES_BATCH_SIZE);
  const page = { ...read, rows: read.rows.filter(mayCauseRules) };
  const wanted = await rulesFor(context, page.rows);
  const authorities = await lockAuthorities(context, wanted);
  const turn = await lockPlace(context, ruleConsumer, before);
  if (turn === undefined) return false;
  if ((await db.row(hasEnabledRules(tenantId)))?.has !== true) {
    await removeCursor(context, ruleConsumer);
    return false;
  }
  const ids = wanted.map(({ id }) => id);
  const rules = ids.length === 0 ? [] : await db.rows(shareRules(tenantId, ids));
  const ended = [...new Set(read.rows.flatMap(endedIn))];
  if (ended.length > 0) await db.run(updatePendingToDue(tenantId, ended));
  const authors = await findAuthors(context, rules, page.rows);
  const ruled = { rules, authorities, authors };
  await judgeTasks(page.rows, ruled);
  return new Turn(context, turn, ruled).run(page);
}

/** The rules of a turn, the principals that act for them, and the agents that wrote the turn's events. */
interface Ruled {
  readonly rules: readonly RuleRow[];
  readonly authorities: Authorities;
  readonly authors: AgentsOfPrincipals;
}

/**
 * Requests external authorization for all tasks of a turn that rules read or act on, before the first rule is
 * evaluated: a separate request for each of them would restart the turn each time.
 * @throws NeedsDecision
 */
async function judgeTasks(rows: readonly EventRow[], { rules, authorities, authors }: Ruled): Promise<void> {
  for (const rule of rules) {
    const permissions = (await authorities.of(rule))?.permissions ?? nothing;
    if (!(permissions instanceof DecidedPermissions)) continue;
    const causes = rows.filter((row) => isReached(rule, row)).map(causeOfEvent);
    const ids = causes.flatMap((cause) => (isCausedBy(rule, cause, authors) ? (cause.taskId ?? []) : []));
    const tasks = [...new Set(ids)];
    if (tasks.length === 0) continue;
    if (readsRoot(rule, 'task')) permissions.permitted('tasks.read', 'task', tasks);
    if (rule.action.target === 'task') permissions.permitted('tasks.write', 'task', tasks);
  }
}

const nothing: ReadonlySet<string> = new Set();

const endsOfClaims = ['claim.released', 'claim.expired'];
const endsOfCalls = ['succeeded', 'failed', 'cancelled'].map((end) => `skill.invocation_${end}`);

/** Tasks whose claims ended, and ended skill calls: evaluations may wait for them. */
function endedIn({ type, entity_id: id, payload }: EventRow): string | readonly string[] {
  if (endsOfCalls.includes(type)) return id;
  const { taskId } = payload as { taskId?: unknown };
  return endsOfClaims.includes(type) && typeof taskId === 'string' ? taskId : [];
}

/** Events that rules write trigger no rule. */
export function mayCauseRules({ entity_type: entity, correlation_id: correlation }: EventRow): boolean {
  return entity !== 'rule' && correlation?.startsWith('work-rule:') !== true;
}

/** The enabled rules that these events may trigger. */
async function rulesFor({ db, tenantId, settings }: Context, rows: readonly EventRow[]): Promise<RuleRow[]> {
  const triggers = new Set(rows.map((row) => triggerOf(causeOfEvent(row))));
  if (triggers.size === 0) return [];
  return db.rows(findEnabledRules(tenantId, [...triggers], settings.CP_RULES_ENABLED_MAX));
}

const triggerOf = ({ trigger }: Cause) => `${trigger.kind}/${trigger.type}`;

/**
 * The outcome of an event in a turn: `later` if the next turn continues immediately, `busy` if it can't continue now.
 */
type Passed = 'done' | 'later' | 'busy' | 'broken';

class Turn {
  readonly #context: Context;
  readonly #turn: TurnRow;
  readonly #rules: readonly RuleRow[];
  readonly #authorities: Authorities;
  readonly #authors: AgentsOfPrincipals;
  readonly #endsAtMs = performance.now() + turnMsMax;
  #evaluations = 0;

  constructor(context: Context, turn: TurnRow, { rules, authorities, authors }: Ruled) {
    this.#context = context;
    this.#turn = turn;
    this.#rules = rules;
    this.#authorities = authorities;
    this.#authors = authors;
  }

  /** @returns whether more events may be due */
  async run({ rows, end, hasMore }: EventPage): Promise<boolean> {
    let reached = positionOf(this.#turn);
    for (const row of rows) {
      const look = await this.#look(row);
      if (look === 'done') {
        reached = positionOf(row);
        continue;
      }
      if (isBehind(reached, this.#turn)) await moveTo(this.#context, ruleConsumer, reached);
      const reason = 'work rule evaluation failed';
      if (look === 'broken')
        await postponeTurn(this.#context, ruleConsumer, { turn: this.#turn, event: row, reason });
      return look === 'later';
    }
    if (!isSamePlace(end, this.#turn)) await moveTo(this.#context, ruleConsumer, end);
    return hasMore;
  }

  /** Evaluates every rule for an event; rules that have already evaluated it skip it. */
  async #look(event: EventRow): Promise<Passed> {
    const cause = causeOfEvent(event);
    for (const rule of this.#rules) {
      if (!isReached(rule, event) || !isCausedBy(rule, cause, this.#authors)) continue;
      if (this.#isOver()) return 'later';
      const look = await this.#evaluate(rule, cause, event);
      if (look === undefined) return 'broken';
      // The cursor stays here, so that the rest of this event is processed before later events.
      if (look === 'left' || look === 'busy') return look === 'left' ? 'later' : 'busy';
    }
    return 'done';
  }

  #isOver(): boolean {
    if (this.#evaluations === 0) return false;
    return this.#evaluations >= evaluationsMax || performance.now() > this.#endsAtMs;
  }

  /** @returns undefined if it failed unexpectedly and must be retried */
  async #evaluate(rule: RuleRow, cause: Cause, event: EventRow): Promise<EvaluationOutcome | undefined> {
    const context = this.#context;
    const authority = await this.#authorities.of(rule);
    let look: EvaluationOutcome = 'none';
    const broke = await runInSavepoint(context, async () => {
      look = await evaluateRule(context, rule, authority, cause, this.#endsAtMs);
      if (look === 'seen') look = await continueItems(context, rule, authority, cause, this.#endsAtMs);
    });
    if (look !== 'none' && look !== 'seen') this.#evaluations += 1;
    if (broke === undefined) return look;
    const failures = failuresAt(this.#turn, event);
    const { tenantId, log, settings } = context;
    log.error(
      { err: broke.error, tenantId, ruleId: rule.id, eventId: event.id, failures },
      'work rule evaluation failed',
    );
    if (failures < settings.CP_RULES_MAX_ATTEMPTS) return undefined;
    await recordFailure(context, rule, authority, cause);
    this.#evaluations += 1;
    return 'done';
  }
}

/** Events before the rule's last enabling are ignored; events of a workspace reach its rules and the tenant's. */
function isReached({ enabled_position: from, workspace_id: place }: RuleRow, event: EventRow): boolean {
  if (from === null || event.position <= from) return false;
  return event.workspace_id === null || place === null || place === event.workspace_id;
}
