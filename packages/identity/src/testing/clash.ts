import type { TestIdentity } from './identity.ts';

/**
 * Makes every new token of this name clash with an existing one: a trigger of the test's own database gives it a prefix
 * that is taken.
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
