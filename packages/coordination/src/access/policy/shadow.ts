import type { Db } from '@baton/kernel/database/db';
import type { Logger } from '@baton/kernel/process/log';
import type { Caller } from '../../service/caller.ts';
import { DecidedPermissions, isCovered, type Permission } from '../../service/permissions.ts';
import { isDecidedHere, type ResourceType } from './catalogue.ts';
import { type Decision, NoDecision, nameOf, type Question } from './decision.ts';
import type { DecisionPoint } from './decision-point.ts';
import type { Differences } from './differences.ts';
import type { PolicyCounters } from './policy-counters.ts';
import { type Places, resourceOf, subjectOf } from './rights.ts';

/** An additional object on which a permission was granted locally. */
interface PlacedAnswer {
  readonly action: Permission;
  readonly type: string;
  readonly id: string;
}
const placedMax = 100;

/** Decides by local permissions and records each check. */
export class ObservedRights extends DecidedPermissions {
  readonly decidesPerObject = false;
  /** The decision per permission; there are at most as many entries as permissions. */
  readonly answers = new Map<Permission, boolean>();
  /** Decisions on additional objects, such as the workspaces in which a command files an object. */
  readonly placed = new Map<string, PlacedAnswer>();

  allows(wanted: Permission): boolean {
    const isAllowed = isCovered(this, wanted);
    if (!isDecidedHere(wanted)) this.answers.set(wanted, isAllowed);
    return isAllowed;
  }

  permitted(_wanted: Permission, _type: string, ids: readonly string[]): readonly string[] {
    return ids;
  }

  permittedEach(wanted: Permission, type: string, ids: readonly string[]): readonly string[] {
    if (!isDecidedHere(wanted))
      for (const id of ids) {
        const name = `${wanted} ${type}:${id}`;
        if (this.placed.size < placedMax) this.placed.set(name, { action: wanted, type, id });
      }
    return ids;
  }

  reaches(wanted: Permission): boolean {
    return isCovered(this, wanted);
  }
}

/** The checks of one request and their objects. */
export interface Observed {
  readonly caller: Caller;
  readonly endpoint: string;
  readonly answers: ReadonlyMap<Permission, boolean>;
  readonly placed: ReadonlyMap<string, PlacedAnswer>;
  readonly places: Places;
  readonly db: Db;
}

/** Compares local decisions with the decision point, after the request. See docs/reference/authorization.md#shadow. */
export interface Shadow {
  observe(observed: Observed): void;
  /** Finishes the comparisons in progress and drops the queued ones. */
  close(): Promise<void>;
}

/** The maximum number of queued requests; any beyond that are counted, but not compared. */
const waitingMax = 1000;
const underWayMax = 8;
/** The maximum number of log lines about differences; all differences are counted, and the newest can be listed. */
const linesPerMinuteMax = 60;

export function openShadow({
  point,
  counters,
  differences,
  log,
}: {
  point: DecisionPoint;
  counters: PolicyCounters;
  differences: Differences;
  log: Logger;
}): Shadow {
  const waiting: Observed[] = [];
  const underWay = new Set<Promise<void>>();
  const lines = { sinceMs: 0, written: 0 };
  let isClosed = false;

  async function compare({ caller, endpoint, answers, placed, places, db }: Observed): Promise<void> {
    const { tenantId, principalId } = caller;
    const place = await places.ofRequest(db);
    const subject = subjectOf(caller);
    const ofRequest = [...answers.keys()].map((action) => ({
      subject,
      action,
      resource: resourceOf(action, place, tenantId),
    }));
    const asked = new Set(ofRequest.map(({ action, resource }) => `${action} ${nameOf(resource)}`));
    const besides: Question[] = [];
    for (const [name, { action, type, id }] of placed) {
      if (asked.has(name)) continue;
      const found = await places.ofType(db, type as ResourceType, [id]);
      for (const resource of found) besides.push({ subject, action, resource });
    }
    counters.shadowChecks.inc(besides.length);
    const questions: readonly Question[] = [...ofRequest, ...besides];
    const decisions = await point.decide(questions);
    for (const [index, { action, resource }] of questions.entries()) {
      const { allowed, reasonCode, decisionId } = decisions[index] as Decision;
      const local = index >= ofRequest.length || answers.get(action as Permission) === true;
      if (allowed === local) continue;
      counters.shadowDivergence.inc();
      const difference = {
        at: new Date().toISOString(),
        endpoint,
        principalId,
        action,
        resource: nameOf(resource),
        local,
        point: allowed,
        reasonCode,
        decisionId,
      };
      differences.add(tenantId, difference);
      note(tenantId, difference);
    }
  }

  function note(tenantId: string, difference: object): void {
    const nowMs = performance.now();
    if (lines.sinceMs === 0 || nowMs - lines.sinceMs > 60_000)
      Object.assign(lines, { sinceMs: nowMs, written: 0 });
    lines.written += 1;
    if (lines.written <= linesPerMinuteMax)
      log.warn({ tenantId, ...difference }, 'the decision point differs from a local decision');
  }

  function start(observed: Observed): void {
    const asked = observed.answers.size;
    counters.shadowChecks.inc(asked);
    const comparison = compare(observed)
      .catch((error: unknown) => {
        counters.shadowUnavailable.inc(asked);
        if (!(error instanceof NoDecision)) log.warn({ err: error }, 'a decision could not be compared');
      })
      .finally(() => {
        underWay.delete(comparison);
        const next = isClosed ? undefined : waiting.shift();
        if (next !== undefined) start(next);
      });
    underWay.add(comparison);
  }

  return {
    observe(observed) {
      if (observed.answers.size === 0 || isClosed) return;
      if (underWay.size < underWayMax) start(observed);
      else if (waiting.length < waitingMax) waiting.push(observed);
      else counters.shadowSkipped.inc(observed.answers.size);
    },
    async close() {
      isClosed = true;
      waiting.length = 0;
      await Promise.all(underWay);
    },
  };
}
