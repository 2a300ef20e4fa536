import { type ItemPage, listPage } from '@baton/kernel/database/list';
import type { Page } from '@baton/kernel/http/paging';
import type { Context } from '../context.ts';
import { findAgentsOfPrincipals } from './managed-principals.ts';
import {
  type AccessRow,
  findAccessOf,
  findFormerIdentities,
  findIdentitiesOf,
  findKeyUseOf,
  type IdentityRow,
  type KeyUseRow,
} from './people.sql.ts';
import type { Person } from './person.ts';
import { type Principal, principalOf } from './principal.ts';
import { findPrincipals } from './principals.sql.ts';
import { getPrincipal, requireKind } from './principals.ts';

const bindingsMax = 20;

export interface PeopleFilter {
  kind?: string | undefined;
  q?: string | undefined;
  accessRole?: string | undefined;
  /** Ids in identity, bound or formerly bound. */
  iamPrincipalIds?: readonly string[] | undefined;
}

/**
 * Lists principals with their access.
 * @throws Refusal `invalid_kind`, `invalid_cursor`
 */
export async function listPeople(
  context: Context,
  { kind, q, accessRole, iamPrincipalIds }: PeopleFilter,
  page: Page,
): Promise<ItemPage<Person>> {
  const { db, tenantId } = context;
  const filter = {
    kind: kind === undefined ? undefined : requireKind(kind),
    search: q === '' ? undefined : q,
    accessRole,
    iamPrincipalIds,
  };
  const { items, nextCursor } = await listPage(db, findPrincipals(tenantId, filter, page), principalOf);
  return { items: await withAccess(context, items, iamPrincipalIds), nextCursor };
}

/** @throws Refusal `not_found` */
export async function getPerson(context: Context, id: string): Promise<Person> {
  const [person] = await withAccess(context, [await getPrincipal(context, id)]);
  return person as Person;
}

/** @param iamPrincipalIds identities that are never cut off, because a client joins the records of identity by them */
async function withAccess(
  context: Context,
  principals: readonly Principal[],
  iamPrincipalIds: readonly string[] = [],
): Promise<Person[]> {
  const { db, tenantId } = context;
  const ids = principals.map(({ id }) => id);
  if (ids.length === 0) return [];
  const of = { tenantId, principalIds: ids, bindingsMax, iamPrincipalIds };
  const bindings = Map.groupBy(await db.rows(findIdentitiesOf(of)), ({ principal_id: id }) => id);
  const access = new Map((await db.rows(findAccessOf(tenantId, ids))).map((row) => [row.principal_id, row]));
  const keys = new Map((await db.rows(findKeyUseOf(tenantId, ids))).map((row) => [row.principal_id, row]));
  const former = new Map(
    (await db.rows(findFormerIdentities(of))).map((row) => [row.principal_id, row.iam_principal_ids]),
  );
  const agents = await findAgentsOfPrincipals(context, ids);
  return principals.map((principal) =>
    personOf(principal, {
      bindings: bindings.get(principal.id) ?? [],
      access: access.get(principal.id),
      former: former.get(principal.id) ?? [],
      keys: keys.get(principal.id),
      agent: agents.get(principal.id) ?? null,
    }),
  );
}

function personOf(
  { id, kind, displayName, status, profile, createdAt }: Principal,
  found: {
    bindings: readonly IdentityRow[];
    access: AccessRow | undefined;
    former: readonly string[];
    keys: KeyUseRow | undefined;
    agent: string | null;
  },
): Person {
  const { bindings, access, keys, agent } = found;
  const uses = [keys?.last_used_at ?? null, access?.last_used_at ?? null];
  return {
    id,
    kind,
    displayName,
    status,
    email: profile.email,
    agent,
    accessRole: access?.access_role ?? null,
    permissions: access?.permissions ?? [],
    identities: bindings.map((row) => ({
      bindingId: row.id,
      issuer: row.issuer,
      iamTenantId: row.iam_tenant_id,
      iamPrincipalId: row.iam_principal_id,
      status: row.status === 'active' ? 'active' : 'disabled',
      lastUsedAt: row.last_used_at,
    })),
    formerIamPrincipalIds: [...found.former],
    liveApiKeys: keys?.live ?? 0,
    lastUsedAt:
      uses
        .filter((at) => at !== null)
        .sort()
        .at(-1) ?? null,
    createdAt,
  };
}
