import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { assertAccessible, noBrowser, openPage } from '../testing/browser.ts';
import { type OwnConsole, startOwnConsole } from '../testing/console.ts';
import { addAuthenticator, localUrl } from '../testing/passkeys.ts';

// The administrator of a fresh Baton: from the printed address to a passkey, without a link.

describe('the first administrator', { skip: noBrowser }, () => {
  let world: OwnConsole;

  before(async () => {
    world = await startOwnConsole();
  });
  after(async () => {
    await world?.closePages();
    await world?.close();
  });

  test('adds a passkey after the printed address, signs in with it, and administers without a secret', async () => {
    const { page, complaints } = await openPage(world.browser);
    const authenticator = await addAuthenticator(page);
    await page.goto(world.printedAddress);
    await page.getByRole('heading', { name: 'Work' }).waitFor();
    await page.goto(`${localUrl(world)}/account`);
    await page.getByRole('heading', { name: 'Add your first passkey' }).waitFor();
    await assertAccessible(page, 'the offer of a first passkey', 'usual');
    await page.getByLabel('Name of the passkey').fill('Laptop');
    await page.getByRole('button', { name: 'Add a passkey' }).click();
    await page.getByRole('region', { name: 'Passkeys' }).getByText('Laptop', { exact: true }).waitFor();
    assert.equal(await authenticator.count(), 1);

    await page.goto(`${localUrl(world)}/administration`);
    await page.getByRole('button', { name: 'Lock administration' }).waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
    await page.getByRole('heading', { name: 'Work' }).waitFor();

    // A token doesn't count as a sign-in, not even the administrator's.
    const other = await world.signedIn('/account');
    await other.page.getByText('You signed in with a token').waitFor();
    assert.equal(await other.page.getByRole('button', { name: 'Add a passkey' }).count(), 0);
    assert.deepEqual(complaints, []);
  });
});
