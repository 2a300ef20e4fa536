import { endpoint } from '../context.ts';
import { PackageRecord, RecordedPackage } from './package.ts';
import { recordPackage } from './recording.ts';

export const packagesApi = [
  endpoint({
    id: 'recordPackage',
    method: 'POST',
    path: '/packages:record',
    summary: 'Say of which package objects are that were made one by one.',
    description:
      'It takes the right of each kind besides. All versions of an object have its link, those that are made later too. ' +
      'What was linked to another package is linked to this one from then on.',
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
