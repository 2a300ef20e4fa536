import type { Db } from '@baton/kernel/database/db';
import type { Act, PendingRequest } from '@baton/kernel/http/runtime';
import type { Answer, Operation } from '@baton/kernel/http/service';
import { Authorities } from '../../access/policy/authorities.ts';
import type { DecisionPoint } from '../../access/policy/decision-point.ts';
import type { PolicyCounters } from '../../access/policy/policy-counters.ts';
import { PolicyRights } from '../../access/policy/rights.ts';
import { ObservedRights, type Shadow } from '../../access/policy/shadow.ts';
import type { Caller } from '../../service/caller.ts';
import type { Permission } from '../../service/permissions.ts';
import { listed, permissionsPerObject } from './listed-objects.ts';
import { placesOf } from './places.ts';
import { readGrantedPage } from './read-granted-page.ts';
import { runWithDecisions } from './run-with-decisions.ts';

/** Hooks of a request's authorization; each mode supplies its own. See docs/reference/authorization.md#modes. */
export interface AuthorizationHooks {
  decide(request: PendingRequest<Caller>, act: Act<Caller>): Promise<Answer>;
  decideFirst(caller: Caller, endpoint: Operation): Promise<Caller>;
  readonly locksAlways: boolean;
}

/** Decisions are requested for the identities of tokens only, not for keys or for requests without a credential. */
const isIdentity = ({ iamPrincipalId }: Caller) => iamPrincipalId !== null;

interface PolicyParts {
  readonly point: DecisionPoint;
  readonly counters: PolicyCounters;
  /** Used for work outside of requests. */
  readonly db: Db;
}

/** Mode `policy`: requests the decisions before the transaction; the command applies them. */
export function createPolicyHooks(parts: PolicyParts): AuthorizationHooks {
  const { point, counters } = parts;
  return {
    locksAlways: true,
    async decide({ call, endpoint, input, db }, act) {
      const { caller } = call;
      const asked = { ...call, authorities: createAuthoritiesFactory({ ...parts, db })() };
      if (!isIdentity(caller)) return runWithDecisions(undefined, () => act(asked, input));
      // A command inside an `around` reuses the decisions of the `around`.
      if (caller.permissions instanceof PolicyRights)
        return runWithDecisions(caller.permissions, () => act(asked, input));
      const rights = new PolicyRights(caller, {
        point,
        counters,
        db,
        places: placesOf(caller, endpoint, input),
      });
      await requestDecisions(rights, endpoint);
      const judgedCall = { ...asked, caller: grantedCaller(caller, rights) };
      const list = listed[endpoint.id];
      if (list === undefined) return runWithDecisions(rights, () => act(judgedCall, input));
      const page = (narrowed: typeof input) => runWithDecisions(rights, () => act(judgedCall, narrowed));
      return readGrantedPage(rights, list, caller.tenantId, input, page);
    },
    async decideFirst(caller, endpoint) {
      if (!isIdentity(caller)) return caller;
      const nothing = { params: {}, query: {}, body: undefined };
      const places = placesOf(caller, endpoint, nothing);
      const rights = new PolicyRights(caller, { point, counters, db: parts.db, places });
      await requestDecisions(rights, endpoint);
      return grantedCaller(caller, rights);
    },
  };
}

/** Creates the factory of authorities for the identities on whose behalf a command works. */
export function createAuthoritiesFactory(parts: PolicyParts): () => Authorities {
  const placesAt = (caller: Caller, workspaceId: string | null) =>
    placesOf(caller, { path: '' }, { params: {}, query: { workspaceId }, body: undefined });
  return () => new Authorities({ ...parts, placesAt });
}

/** Authorizes a reader of the event stream: `events.read` on the tenant or on one workspace. */
export function createReaderAuthorizer(parts: PolicyParts) {
  return async (caller: Caller, workspaceId: string | undefined): Promise<Caller> => {
    if (!isIdentity(caller)) return caller;
    const about = { params: {}, query: { workspaceId }, body: undefined };
    const rights = new PolicyRights(caller, {
      ...parts,
      places: placesOf(caller, { path: '/events' }, about),
    });
    await rights.askAnyOf(['events.read']);
    return { ...caller, permissions: rights };
  };
}

/**
 * The caller with the granted permissions. For the consequences of a token for one decision, the person's other
 * permissions apply.
 */
function grantedCaller(caller: Caller, rights: PolicyRights): Caller {
  const { permissionsAfter } = caller;
  if (permissionsAfter === undefined) return { ...caller, permissions: rights };
  const { approvalId: _, ...later } = caller;
  const scopes = new Set(['control-plane:read', 'control-plane:write']);
  const after = rights.with({ ...later, scopes, permissions: permissionsAfter });
  return { ...caller, permissions: rights, permissionsAfter: after };
}

/** Requests the endpoint's permissions, one of each group; for a list also the permission that filters its items. */
async function requestDecisions(
  rights: PolicyRights,
  { id, permission, alsoOneOf }: Operation,
): Promise<void> {
  const byObject = permissionsPerObject[id] ?? (listed[id] === undefined ? [] : [listed[id].action]);
  const type = listed[id]?.type ?? 'task';
  for (const action of byObject) await rights.askList(action, [type]);
  for (const group of [permission, alsoOneOf])
    if (!group.some((action) => byObject.includes(action as Permission)))
      await rights.askAnyOf(group as readonly Permission[]);
}

/** Mode `shadow`: local permissions decide; the decision point is queried for comparison only. */
export function createShadowHooks(shadow: Shadow): Pick<AuthorizationHooks, 'decide'> {
  return {
    async decide({ call, endpoint, input, db }, act) {
      const { caller } = call;
      if (!isIdentity(caller) || caller.permissions instanceof ObservedRights) return act(call, input);
      const rights = new ObservedRights(caller.permissions);
      try {
        return await act({ ...call, caller: { ...caller, permissions: rights } }, input);
      } finally {
        // The items of a list are compared one by one; the permission on the list as a whole isn't compared.
        const byObject = permissionsPerObject[endpoint.id] ?? [listed[endpoint.id]?.action];
        for (const action of byObject) if (action !== undefined) rights.answers.delete(action);
        const places = placesOf(caller, endpoint, input);
        const { answers, placed } = rights;
        shadow.observe({ caller, endpoint: endpoint.id, answers, placed, places, db });
      }
    },
  };
}
