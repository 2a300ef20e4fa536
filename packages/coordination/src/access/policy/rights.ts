import type { Db } from '@baton/kernel/database/db';
import { NeedsAnswer } from '@baton/kernel/http/command';
import { type Details, Refusal } from '@baton/kernel/http/refusal';
import type { Caller } from '../../service/caller.ts';
import {
  type Action,
  DecidedPermissions,
  isCovered,
  narrowByScopes,
  type Permission,
  permissionNames,
} from '../../service/permissions.ts';
import { isCheckedOn, isDecidedHere, type ResourceType } from './catalogue.ts';
import { type Decision, NoDecision, nameOf, type Question, type Resource, type Subject } from './decision.ts';
import type { DecisionPoint } from './decision-point.ts';
import type { PolicyCounters } from './policy-counters.ts';

interface NeededObjects {
  readonly type: ResourceType;
  readonly ids: readonly string[];
  /** Whether the point may list all objects of the type instead of deciding on these objects. */
  readonly isList: boolean;
}

/** Thrown when a command needs a decision that it doesn't have. The command is rolled back and repeated with it. */
export class NeedsDecision extends NeedsAnswer {
  override readonly name = 'NeedsDecision';
  readonly action: Action;
  /** The objects that each need a decision; absent if the decision is about the object of the request. */
  readonly objects: NeededObjects | undefined;
  /** The rights that lack the decision; absent if no decision was requested for the caller. */
  readonly rights: PolicyRights | undefined;

  constructor(action: Action, rights?: PolicyRights, objects?: NeededObjects) {
    super(`${action} was checked before a decision on it was requested`);
    this.action = action;
    this.rights = rights;
    this.objects = objects;
  }
}

/** Finds the objects of a request. */
export interface Places {
  /** The objects of the request, the most specific first, each with its current relations. */
  ofRequest(db: Db): Promise<readonly Resource[]>;
  /** Objects of one type, in any order, without the missing ones. */
  ofType(db: Db, type: ResourceType, ids: readonly string[]): Promise<readonly Resource[]>;
  /** Maps the id of each object of a kind of this service to the result that `ofRequest` would return for it. */
  ofKind(db: Db, kind: string, ids: readonly string[]): Promise<ReadonlyMap<string, readonly Resource[]>>;
}

/** What deciding one request requires. */
export interface DecisionSources {
  readonly point: DecisionPoint;
  readonly counters: PolicyCounters;
  readonly places: Places;
  /** Used for statements outside of transactions. */
  readonly db: Db;
}

/** A token's permissions before any decision. Checking one is a programming error. */
export class UndecidedRights extends DecidedPermissions {
  readonly decidesPerObject = true;

  allows(wanted: Permission): boolean {
    throw new NeedsDecision(wanted);
  }

  permitted(wanted: Action): readonly string[] {
    throw new NeedsDecision(wanted);
  }

  permittedEach(wanted: Permission): readonly string[] {
    throw new NeedsDecision(wanted);
  }

  reaches(wanted: Permission): boolean {
    throw new NeedsDecision(wanted);
  }
}

/** The rights of an identity that work is done on behalf of, without its token. */
export interface Absent {
  /** The permissions that it may have at most; they take the place of a token's scopes. */
  readonly ceiling: ReadonlySet<string>;
  /** Requests all decisions that absent identities may need; objects are decided one by one, never listed. */
  askAll(): Promise<void>;
}

/** A decision on an additional object of a command. */
interface Placed {
  readonly action: Permission;
  readonly resource: Resource;
  readonly outcome: Outcome;
}

interface Outcome extends Pick<Decision, 'allowed'> {
  /** The details of a refusal; absent if no decision was requested. */
  readonly details?: Details;
}

/** How soon a client may retry a write that was refused with `policy_unavailable`. */
const retryAfterSeconds = '1';

/**
 * The decision point's grants for one request, requested before the transaction and applied inside it. The token's
 * scopes narrow them; permissions that only this service decides come from the caller's own permissions. See
 * docs/reference/authorization.md#order.
 */
export class PolicyRights extends DecidedPermissions {
  readonly decidesPerObject = true;
  readonly #sources: DecisionSources;
  readonly #subject: Subject;
  readonly #ceiling: ReadonlySet<string>;
  /**
   * A Refusal in place of an outcome means that the decision failed. It is thrown when the permission is checked, in
   * the order of the checks.
   */
  #outcomes = new Map<Permission, Outcome | Refusal>();
  /** The granted ids per permission and type; `each` if the decision point can't list them. */
  readonly #lists = new Map<string, ReadonlySet<string> | 'each'>();
  readonly #objects = new Map<string, boolean>();
  /** Keyed by action and object. */
  readonly #placed = new Map<string, Placed>();
  readonly #absent: Absent | undefined;
  #place: readonly Resource[] | undefined;

  constructor(caller: Caller, sources: DecisionSources, absent?: Absent) {
    super(caller.permissions);
    this.#sources = sources;
    this.#absent = absent;
    this.#ceiling = absent?.ceiling ?? ceilingOf(caller);
    this.#subject = subjectOf(caller);
  }

  allows(wanted: Permission): boolean {
    if (!this.#ceiling.has(wanted)) return false;
    if (isDecidedHere(wanted)) return isCovered(this, wanted);
    const outcome = this.#outcomes.get(wanted);
    if (outcome === undefined) throw new NeedsDecision(wanted, this);
    if (outcome instanceof Refusal) throw outcome;
    return outcome.allowed;
  }

  permitted(wanted: Action, type: string, ids: readonly string[]): readonly string[] {
    // Memory exposes what the journal contains, so its reads need `events.read`.
    if (!this.#ceiling.has(wanted === 'memory.read' ? 'events.read' : wanted)) return [];
    const list = this.#lists.get(listName(wanted, type));
    if (list instanceof Set) return ids.filter((id) => list.has(id));
    const unknown = ids.filter((id) => !this.#objects.has(objectName(wanted, type, id)));
    if (list === undefined || unknown.length > 0)
      throw new NeedsDecision(wanted, this, { type: type as ResourceType, ids: unknown, isList: true });
    return ids.filter((id) => this.#objects.get(objectName(wanted, type, id)) === true);
  }

  permittedEach(wanted: Permission, type: string, ids: readonly string[]): readonly string[] {
    if (!this.#ceiling.has(wanted)) return [];
    if (isDecidedHere(wanted)) return isCovered(this, wanted) ? ids : [];
    const unknown = ids.filter((id) => this.#outcomeOn(wanted, type, id) === undefined);
    if (unknown.length > 0)
      throw new NeedsDecision(wanted, this, { type: type as ResourceType, ids: unknown, isList: false });
    return ids.filter((id) => this.#outcomeOn(wanted, type, id)?.allowed === true);
  }

  reaches(wanted: Permission): boolean {
    return this.#ceiling.has(wanted);
  }

  /** The same decisions for a caller with other scopes, for the consequences of a decision by token. */
  with(caller: Caller): PolicyRights {
    const rights = new PolicyRights(caller, this.#sources);
    rights.#outcomes = this.#outcomes;
    return rights;
  }

  /** Requests the permissions one by one until one is granted; a failure ends the sequence. */
  async askAnyOf(actions: readonly Permission[]): Promise<void> {
    for (const action of actions) {
      if (!this.#ceiling.has(action) || isDecidedHere(action)) {
        if (this.allows(action)) return;
        continue;
      }
      const outcome = await this.#ask(action);
      if (outcome instanceof Refusal || outcome.allowed) return;
    }
  }

  /** Grants a permission to a request whose objects are decided one by one. */
  async askList(action: Permission, types: readonly ResourceType[]): Promise<void> {
    if (!this.#ceiling.has(action)) return;
    this.#outcomes.set(action, { allowed: true });
    for (const type of types)
      try {
        this.#lists.set(listName(action, type), await this.#listOf(action, type));
      } catch (error) {
        this.#outcomes.set(action, this.#unavailable(error));
      }
  }

  /** The granted ids, if the decision point lists them and there aren't too many. */
  idsOf(action: Permission, type: ResourceType): ReadonlySet<string> | undefined {
    const list = this.#lists.get(listName(action, type));
    return list instanceof Set ? list : undefined;
  }

  /** Requests the decision that a command lacked. @throws Refusal `policy_unavailable` */
  async settle({ action, objects }: NeedsDecision): Promise<void> {
    if (objects === undefined) {
      await (this.#absent?.askAll() ?? this.#ask(action as Permission));
      return;
    }
    if (!objects.isList) return this.#askPlaces(action as Permission, objects);
    const name = listName(action, objects.type);
    try {
      if (!this.#lists.has(name)) this.#lists.set(name, await this.#listOf(action, objects.type));
      if (this.#lists.get(name) === 'each') await this.#askEach(action, objects);
    } catch (error) {
      throw this.#unavailable(error);
    }
  }

  /**
   * Checks that the objects of the request still have the relations on which their decisions are based.
   * @param tx the transaction that applies the decisions
   * @throws NeedsDecision when an object was moved or got another owner meanwhile
   */
  async recheck(tx: Db): Promise<void> {
    if (await this.#stillStands(tx)) return;
    this.#place = undefined;
    this.#placed.clear();
    const [asked] = [...this.#outcomes.keys()];
    this.#outcomes.clear();
    // Decisions on additional objects are requested again when the command checks them.
    if (asked !== undefined) throw new NeedsDecision(asked, this);
  }

  async #stillStands(tx: Db): Promise<boolean> {
    const { places } = this.#sources;
    if (this.#place !== undefined && this.#place.length > 0) {
      const now = await places.ofRequest(tx);
      if (JSON.stringify(now) !== JSON.stringify(this.#place)) return false;
    }
    const named = [...this.#placed.values()].filter(({ resource }) => resource.type === 'workspace');
    if (named.length === 0) return true;
    const ids = [...new Set(named.map(({ resource }) => resource.id))];
    const now = new Map((await places.ofType(tx, 'workspace', ids)).map((place) => [place.id, place]));
    return named.every(({ resource }) => JSON.stringify(now.get(resource.id)) === JSON.stringify(resource));
  }

  /** The decision point's result for a permission; undefined if no decision was requested. */
  decisionOn(action: Permission): Details | undefined {
    const outcome = this.#outcomes.get(action);
    return outcome instanceof Refusal ? undefined : outcome?.details;
  }

  /** The last denial among these permissions, for the details of a refusal. */
  denialOf(required: readonly string[]): Details | undefined {
    const placed = [...this.#placed.values()].filter(
      ({ action, outcome }) => required.includes(action) && !outcome.allowed,
    );
    const denials = [
      ...required.map((name) => this.#outcomes.get(name as Permission)),
      ...placed.map(({ outcome }) => outcome),
    ];
    const last = denials.findLast((denial) => denial !== undefined);
    return last === undefined || last instanceof Refusal || last.allowed ? undefined : last.details;
  }

  /**
   * Requests decisions on many objects in as few requests as possible.
   * @param wanted the rights on each object, created by `about`
   * @throws Refusal `policy_unavailable`
   */
  async askAll(asked: readonly { rights: PolicyRights; actions: readonly Permission[] }[]): Promise<void> {
    const open = asked.flatMap(({ rights, actions }) =>
      actions
        .filter((action) => rights.#ceiling.has(action) && !isDecidedHere(action))
        .map((action) => ({ rights, action })),
    );
    const questions = open.map(({ rights, action }) => rights.#question(action));
    const decisions = await this.#sources.point.decide(questions).catch((error: unknown) => {
      throw this.#unavailable(error);
    });
    for (const [index, { rights, action }] of open.entries())
      rights.#outcomes.set(action, outcomeOf(questions[index] as Question, decisions[index] as Decision));
  }

  /**
   * Requests decisions on all permissions of the absent identities' ceilings; a failure is thrown when one of them is
   * checked.
   */
  static async askTogether(all: readonly PolicyRights[]): Promise<void> {
    const isOpen = (rights: PolicyRights) => (name: Permission) =>
      rights.#ceiling.has(name) && !isDecidedHere(name) && !rights.#outcomes.has(name);
    const asked = all.map((rights) => ({ rights, actions: permissionNames.filter(isOpen(rights)) }));
    for (const { rights } of asked) {
      const { places, db } = rights.#sources;
      rights.#place ??= await places.ofRequest(db);
    }
    try {
      await asked[0]?.rights.askAll(asked);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      for (const { rights, actions } of asked)
        for (const action of actions) rights.#outcomes.set(action, error);
    }
  }

  /** The same caller's rights on other objects, without any decision. */
  about(caller: Caller, place: readonly Resource[]): PolicyRights {
    const rights = new PolicyRights(caller, this.#sources);
    rights.#place = place;
    return rights;
  }

  /** Objects of a kind of this service, in the form sent to the decision point, by id. */
  placesOf(kind: string, ids: readonly string[]): Promise<ReadonlyMap<string, readonly Resource[]>> {
    const { places, db } = this.#sources;
    return places.ofKind(db, kind, ids);
  }

  /** Whether the token excludes a permission, even if it is granted. */
  isBeyondScope(action: Permission): boolean {
    return !this.#ceiling.has(action);
  }

  async #listOf(action: Action, type: ResourceType): Promise<ReadonlySet<string> | 'each'> {
    const { point } = this.#sources;
    if (type === 'tenant' || this.#absent !== undefined) return 'each';
    return (await point.objectsOf({ subject: this.#subject, action, type })) ?? 'each';
  }

  /** Requests a permission on the object of the request. */
  async #ask(action: Permission): Promise<Outcome | Refusal> {
    const known = this.#outcomes.get(action);
    if (known !== undefined) return known;
    const outcome = await this.#decisionOf(action).catch((error: unknown) => this.#unavailable(error));
    this.#outcomes.set(action, outcome);
    return outcome;
  }

  async #decisionOf(action: Permission): Promise<Outcome> {
    const { point, places, db } = this.#sources;
    const mayBeOnObject = resourceTypesAsked.some((type) => isCheckedOn(action, type));
    if (mayBeOnObject) this.#place ??= await places.ofRequest(db);
    const question = this.#question(action);
    const [decision] = await point.decide([question]);
    return outcomeOf(question, decision as Decision);
  }

  #question(action: Permission): Question {
    const resource = resourceOf(action, this.#place ?? [], this.#subject.tenantId);
    return { subject: this.#subject, action, resource };
  }

  #outcomeOn(action: Permission, type: string, id: string): Outcome | undefined {
    const ofRequest = this.#outcomes.get(action);
    if (ofRequest !== undefined && !(ofRequest instanceof Refusal))
      if (ofRequest.details?.['resource'] === `${type}:${id}`) return ofRequest;
    return this.#placed.get(objectName(action, type, id))?.outcome;
  }

  async #askPlaces(action: Permission, { type, ids }: NeededObjects): Promise<void> {
    const { point, places, db } = this.#sources;
    const found = new Map((await places.ofType(db, type, ids)).map((resource) => [resource.id, resource]));
    // A missing object is decided on the tenant.
    const questions = ids.map((id) => {
      const resource = found.get(id) ?? tenantOf(this.#subject);
      return { subject: this.#subject, action, resource };
    });
    const decisions = await point.decide(questions).catch((error: unknown) => {
      throw this.#unavailable(error);
    });
    for (const [index, id] of ids.entries()) {
      const question = questions[index] as Question;
      const outcome = outcomeOf(question, decisions[index] as Decision);
      this.#placed.set(objectName(action, type, id), { action, resource: question.resource, outcome });
    }
  }

  async #askEach(action: Action, { type, ids }: NeededObjects): Promise<void> {
    const { point, places, db } = this.#sources;
    const resources = await places.ofType(db, type, ids);
    const questions = resources.map((resource) => ({ subject: this.#subject, action, resource }));
    const decisions = await point.decide(questions);
    for (const id of ids) this.#objects.set(objectName(action, type, id), false);
    for (const [index, { id }] of resources.entries())
      this.#objects.set(objectName(action, type, id), decisions[index]?.allowed === true);
  }

  #unavailable(error: unknown): Refusal {
    if (!(error instanceof NoDecision)) throw error;
    this.#sources.counters.unavailable.inc();
    return new Refusal(
      'policy_unavailable',
      {},
      { headers: { 'retry-after': retryAfterSeconds }, reason: error.message },
    );
  }
}

const resourceTypesAsked: readonly ResourceType[] = [
  'task',
  'run',
  'approval',
  'artifact',
  'workspace',
  'project_profile',
];

function outcomeOf({ resource }: Question, { allowed, reasonCode, decisionId }: Decision): Outcome {
  return { allowed, details: { resource: nameOf(resource), reasonCode, decisionId } };
}

/** The object on which a permission is decided: the most specific one of its kinds, or the tenant. */
export function resourceOf(action: Permission, place: readonly Resource[], tenantId: string): Resource {
  const found = place.find(({ type }) => isCheckedOn(action, type));
  return found ?? tenantOf({ tenantId });
}

function tenantOf({ tenantId }: Pick<Subject, 'tenantId'>): Resource {
  return { type: 'tenant', id: tenantId, tuples: [] };
}

export function subjectOf({ kind, iamPrincipalId, tenantId }: Caller): Subject {
  return { kind, iamPrincipalId: iamPrincipalId as string, tenantId };
}

/** The permissions that the token allows at most. A token for one decision allows one permission, on one approval. */
function ceilingOf({ approvalId, scopes = new Set() }: Caller): ReadonlySet<string> {
  if (approvalId !== undefined) return new Set(['approvals.decide']);
  return narrowByScopes(permissionNames, scopes) ?? new Set();
}

const listName = (action: string, type: string) => `${action} ${type}`;
const objectName = (action: string, type: string, id: string) => `${action} ${type}:${id}`;
