import type { Db } from '@baton/kernel/database/db';
import type { Act, JudgedRequest } from '@baton/kernel/http/runtime';
import type { Answer, Operation } from '@baton/kernel/http/service';
import { Authorities } from '../../access/policy/authorities.ts';
import type { DecisionPoint } from '../../access/policy/decision-point.ts';
import type { PolicyCounters } from '../../access/policy/policy-counters.ts';
import { PolicyRights } from '../../access/policy/rights.ts';
import { ObservedRights, type Shadow } from '../../access/policy/shadow.ts';
import type { Caller } from '../../service/caller.ts';
import type { Permission } from '../../service/permissions.ts';
import { choosing, listed } from './listed.ts';
import { narrowedPage } from './narrowed-page.ts';
import { placesOf } from './places.ts';
import { settled } from './settling.ts';

/** How the modes of organisation, section 21.1, change the way of a request. */
export interface Judged {
  judged(request: JudgedRequest<Caller>, act: Act<Caller>): Promise<Answer>;
  judgedFirst(caller: Caller, endpoint: Operation): Promise<Caller>;
  readonly locksAlways: boolean;
}

/** What is asked of the identities of tokens; keys, and requests without a credential, are none. */
const isIdentity = ({ iamPrincipalId }: Caller) => iamPrincipalId !== null;

interface PolicyParts {
  readonly point: DecisionPoint;
  readonly counters: PolicyCounters;
  /** For what takes no turn of a request. */
  readonly db: Db;
}

/** Mode `policy`: the decision point is asked before, the command obeys. */
export function judgedByPolicy(parts: PolicyParts): Judged {
  const { point, counters } = parts;
  return {
    locksAlways: true,
    async judged({ call, endpoint, input, db }, act) {
      const { caller } = call;
      const asked = { ...call, authorities: authoritiesBy({ ...parts, db })() };
      if (!isIdentity(caller)) return settled(undefined, () => act(asked, input));
      // The command inside an `around`: what was asked before it holds.
      if (caller.permissions instanceof PolicyRights)
        return settled(caller.permissions, () => act(asked, input));
      const rights = new PolicyRights(caller, {
        point,
        counters,
        db,
        places: placesOf(caller, endpoint, input),
      });
      await askFor(rights, endpoint);
      const judgedCall = { ...asked, caller: judgedCaller(caller, rights) };
      const list = listed[endpoint.id];
      if (list === undefined) return settled(rights, () => act(judgedCall, input));
      const page = (narrowed: typeof input) => settled(rights, () => act(judgedCall, narrowed));
      return narrowedPage(rights, list, caller.tenantId, input, page);
    },
    async judgedFirst(caller, endpoint) {
      if (!isIdentity(caller)) return caller;
      const nothing = { params: {}, query: {}, body: undefined };
      const places = placesOf(caller, endpoint, nothing);
      const rights = new PolicyRights(caller, { point, counters, db: parts.db, places });
      await askFor(rights, endpoint);
      return judgedCaller(caller, rights);
    },
  };
}

/** Makes what judges those in whose name one command works. */
export function authoritiesBy(parts: PolicyParts): () => Authorities {
  const placesAt = (caller: Caller, workspaceId: string | null) =>
    placesOf(caller, { path: '' }, { params: {}, query: { workspaceId }, body: undefined });
  return () => new Authorities({ ...parts, placesAt });
}

/** Judges who reads the journal over a stream: `events.read` on the whole of it, or on one workspace. */
export function judgedReaderBy(parts: PolicyParts) {
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

/** The caller with what was granted; a token for decisions leaves its person more for what follows. */
function judgedCaller(caller: Caller, rights: PolicyRights): Caller {
  const { permissionsAfter } = caller;
  if (permissionsAfter === undefined) return { ...caller, permissions: rights };
  const { approvalId: _, ...later } = caller;
  const scopes = new Set(['control-plane:read', 'control-plane:write']);
  const after = rights.with({ ...later, scopes, permissions: permissionsAfter });
  return { ...caller, permissions: rights, permissionsAfter: after };
}

/** The flat permissions of an endpoint, any one of each group; of a list, what its items are judged by. */
async function askFor(rights: PolicyRights, { id, permission, alsoOneOf }: Operation): Promise<void> {
  const byObject = choosing[id] ?? (listed[id] === undefined ? [] : [listed[id].action]);
  const type = listed[id]?.type ?? 'task';
  for (const action of byObject) await rights.askList(action, [type]);
  for (const group of [permission, alsoOneOf])
    if (!group.some((action) => byObject.includes(action as Permission)))
      await rights.askAnyOf(group as readonly Permission[]);
}

/** Mode `shadow`: the names here decide, and the decision point is asked beside. */
export function observedBy(shadow: Shadow): Pick<Judged, 'judged'> {
  return {
    async judged({ call, endpoint, input, db }, act) {
      const { caller } = call;
      if (!isIdentity(caller) || caller.permissions instanceof ObservedRights) return act(call, input);
      const rights = new ObservedRights(caller.permissions);
      try {
        return await act({ ...call, caller: { ...caller, permissions: rights } }, input);
      } finally {
        // What a list shows is judged row by row: that the list as a whole may be read is no question.
        const byObject = choosing[endpoint.id] ?? [listed[endpoint.id]?.action];
        for (const action of byObject) if (action !== undefined) rights.answers.delete(action);
        const places = placesOf(caller, endpoint, input);
        const { answers, placed } = rights;
        shadow.observe({ caller, endpoint: endpoint.id, answers, placed, places, db });
      }
    },
  };
}
