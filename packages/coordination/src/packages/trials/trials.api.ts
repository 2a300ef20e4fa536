import type { Surroundings } from '@baton/kernel/http/service';
import { QueryFlag } from '@baton/values/wire';
import { type Context, endpoint } from '../context.ts';
import { PackageTestReport, PackageTestRequest, testPackageInTurn } from './trials.ts';

export const packageTrialsApi = [
  endpoint({
    id: 'testPackage',
    method: 'POST',
    path: '/packages:test',
    summary: 'Check a package and run its tests.',
    description:
      'The tests are the documents of kind `Test` in its files and in `tests`. They run processes, rules and task types without effects and with their own clock. Nothing is written. A test has 2 s of engine time, and a call 10 s: tests that have not started by then end as `error`, and so do tests that use a feature that is not simulated. At most one call runs at a time per tenant, and two per server process; up to four calls per tenant wait for at most 10 s.',
    permission: 'packages.test',
    alsoOneOf: ['processes.read'],
    idempotency: 'ignored',
    transaction: 'none',
    largeBody: true,
    query: { checkOnly: QueryFlag.optional() },
    body: PackageTestRequest,
    returns: { 200: PackageTestReport },
    errors: ['not_found'],
    example: {
      package: { files: [{ path: 'package.yaml', content: 'key: support\nversion: "1.0"\n' }] },
    },
    around: async ({ body, query }, { context, command }: Surroundings<PackageTestReport, Context>) =>
      command(await testPackageInTurn(context, body, query.checkOnly ?? false)),
    handle: ({ prepared }) => prepared,
  }),
];
