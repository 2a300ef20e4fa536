import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { holds, narrowByScopes, type Permission, permissionNames } from './permissions.ts';

const [read, write, admin] = ['control-plane:read', 'control-plane:write', 'control-plane:admin'] as const;
const someScopes = fc.uniqueArray(fc.constantFrom(read, write, admin, 'other:read', 'control-plane', ''));
const somePermissions = fc.uniqueArray(fc.constantFrom(...permissionNames));
const isRead = (name: string) => name.endsWith('.read');

/** The table of docs/reference/access.md#scopes, row by row. */
function remains(name: Permission, scopes: readonly string[]): boolean {
  if (scopes.includes(admin)) return true;
  if (name === 'admin') return false;
  return isRead(name) ? scopes.includes(read) : scopes.includes(write);
}

test('scopes leave the permissions in the table of scopes', () => {
  fc.assert(
    fc.property(somePermissions, someScopes, (held, scopes) => {
      const left = narrowByScopes(held, new Set(scopes));
      const known = [read, write, admin].some((scope) => scopes.includes(scope));
      if (!known) return assert.equal(left, undefined);
      assert.deepEqual([...(left ?? [])].sort(), held.filter((name) => remains(name, scopes)).sort());
    }),
  );
});

test('a scope never grants permissions that the binding lacks, and more scopes never remove any', () => {
  fc.assert(
    fc.property(somePermissions, someScopes, someScopes, (held, scopes, more) => {
      const narrow = narrowByScopes(held, new Set(scopes)) ?? new Set<string>();
      const wide = narrowByScopes(held, new Set([...scopes, ...more])) ?? new Set<string>();
      for (const name of narrow) assert.ok((held as string[]).includes(name));
      for (const name of narrow) assert.ok(wide.has(name));
    }),
  );
});

test('admin covers every permission, and no other permission covers another', () => {
  fc.assert(
    fc.property(fc.constantFrom(...permissionNames), fc.constantFrom(...permissionNames), (held, wanted) => {
      assert.equal(holds(new Set([held]), wanted), held === wanted || held === 'admin');
    }),
  );
});

test('the scopes read and write together leave every permission but admin', () => {
  const left = narrowByScopes(permissionNames, new Set([read, write]));
  assert.deepEqual(
    [...(left ?? [])],
    permissionNames.filter((name) => name !== 'admin'),
  );
});
