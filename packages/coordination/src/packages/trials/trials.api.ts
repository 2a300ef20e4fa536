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
      'Its processes, rules and task types run without effects and with a clock of their own, by the documents of kind `Test` in its files and in `tests`. Nothing is written. A test has 2 s of the engine, and a call 10 s: tests that were not begun by then end as `error`, as those do that ask for what is not simulated. One call of a tenant runs at a time and two of a process; four of a tenant wait for 10 s at most.',
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
