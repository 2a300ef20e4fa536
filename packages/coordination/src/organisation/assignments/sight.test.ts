import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { newId } from '@baton/values/ids';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done, refused } from '../../testing/leases.ts';
import { makeNarrowPerson, makeWorkspace } from '../../testing/organisation/workspaces.ts';

let baton: TestCoordination;
/** The person sees `mine`, and neither `other` nor the workspace above `mine`. */
let person: any;
let mine: any;
let other: any;
let ofTenant: any;
let ofOther: any;
before(async () => {
  baton = await startCoordination();
  ({ person, mine, other } = await makeNarrowPerson(baton));
  [ofTenant, ofOther] = [await makeRole(), await makeRole({ workspaceId: other.id })];
});
after(() => baton.close());

const makeRole = (more: object = {}) =>
  done(baton.admin.post('/roles', { slug: `r${newId()}`, name: 'Lead', ...more }), 201);

/** Creates a principal with these roles, each in the tenant or in a workspace. */
async function holderOf(...given: [roleId: string, workspaceId: string | null][]): Promise<string> {
  const { principalId } = await baton.actor();
  for (const [roleId, workspaceId] of given)
    await done(baton.admin.post(`/principals/${principalId}/roles`, { roleId, workspaceId }), 201);
  return principalId;
}

const rolesOf = async (principalId: string, by = person) =>
  (await done(by.get(`/principals/${principalId}/roles`))).items.map(({ role, workspaceId }: any) => [
    role.id,
    workspaceId,
  ]);

test('the roles of a principal are listed without those of hidden workspaces and those assigned in them', async () => {
  const holder = await holderOf(
    [ofTenant.id, null],
    [ofTenant.id, mine.id],
    [ofTenant.id, other.id],
    [ofOther.id, null],
  );
  assert.deepEqual(await rolesOf(holder), [
    [ofTenant.id, mine.id],
    [ofTenant.id, null],
  ]);
  assert.equal((await rolesOf(holder, baton.admin)).length, 4);
});

test('a role assigned in a hidden workspace is not revoked: it behaves like a missing one', async () => {
  const holder = await holderOf([ofTenant.id, other.id], [ofTenant.id, mine.id], [ofOther.id, null]);
  const revoke = (roleId: string, workspaceId: string | null) =>
    person.post(`/principals/${holder}/roles/${roleId}:revoke`, { workspaceId });
  await done(revoke(ofTenant.id, newId()), 204);
  await done(revoke(ofTenant.id, other.id), 204);
  await refused(revoke(ofOther.id, null), 404, 'not_found');
  assert.equal((await rolesOf(holder, baton.admin)).length, 3);
  await done(revoke(ofTenant.id, mine.id), 204);
  assert.equal((await rolesOf(holder, baton.admin)).length, 2);
});

test('participants are returned without roles of hidden workspaces or roles assigned in an invisible ancestor', async () => {
  const above = await makeWorkspace(baton);
  const below = await makeWorkspace(baton, { parentId: above.id });
  await done(baton.admin.post(`/workspaces/${below.id}/members`, { principalId: person.principalId }), 201);
  const own = await makeRole({ workspaceId: below.id });
  const holder = await holderOf([own.id, above.id], [ofOther.id, below.id]);
  const shown = async (by: any) => {
    const { items } = await done(by.get(`/workspaces/${below.id}/participants`));
    const { roles } = items.find(({ principalId }: any) => principalId === holder);
    return roles.map(({ roleId, assignmentWorkspaceId }: any) => [roleId, assignmentWorkspaceId]);
  };
  assert.deepEqual(await shown(person), [[own.id, null]]);
  assert.deepEqual(
    new Map(await shown(baton.admin)),
    new Map([
      [own.id, above.id],
      [ofOther.id, below.id],
    ]),
  );
});
