import { endpoint } from '../context.ts';
import { PackageRecord, RecordedPackage } from './package.ts';
import { recordPackage } from './record-package.ts';

export const packagesApi = [
  endpoint({
    id: 'recordPackage',
    method: 'POST',
    path: '/packages:record',
    summary: 'Record the package that installed objects belong to.',
    description:
      'The caller also needs the permission for each kind. The link applies to all versions of an object, later ones included. ' +
      'An object of another package is transferred to this one.',
    permission: 'packages.plan',
    body: PackageRecord,
    returns: { 200: RecordedPackage },
    errors: ['unknown_object'],
    example: {
      package: { key: 'support', version: '1.2.0' },
      objects: [{ kind: 'TaskType', key: 'task' }],
    },
    handle: ({ body }, context) => recordPackage(context, body),
  }),
];
