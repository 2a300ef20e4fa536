import type { TestIdentity } from './identity.ts';

/**
 * Makes every new token with this name conflict with an existing one: a trigger in the test's own database assigns it a
 * taken prefix.
 */
export async function clashTokensNamed(identity: TestIdentity, name: string): Promise<void> {
  if (!/^[a-z]+$/.test(name)) throw new Error('the name goes into the text of a function');
  await identity.pool.run({
    text: `create function clash() returns trigger language plpgsql as $$
      begin
        select public_prefix into new.public_prefix from platform_access_tokens limit 1;
        return new;
      end $$`,
    values: [],
  });
  await identity.pool.run({
    text: `create trigger clash before insert on platform_access_tokens
      for each row when (new.name = '${name}') execute function clash()`,
    values: [],
  });
}
