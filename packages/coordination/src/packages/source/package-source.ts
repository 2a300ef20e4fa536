import { z } from 'zod';
import { FreeObject } from '@baton/values/wire';
import { PackageKey } from '../../organisation/package-link.ts';

/**
 * The maximum number of files in a package, and the maximum sizes of their paths and contents in the request schema;
 * parsing has stricter limits.
 */
const filesMax = 1000;
const pathCharactersMax = 500;
const contentCharactersMax = 1_000_000;

/** The files of a catalogue package, as sent by the client (docs/reference/packages.md#source). */
export const PackageSource = z
  .strictObject({
    files: z
      .array(
        z
          .strictObject({
            path: z.string().min(1).max(pathCharactersMax).meta({
              description: 'A relative path without `..`, unique among the files.',
            }),
            content: z.string().max(contentCharactersMax).meta({
              description:
                'YAML 1.2 of at most 65536 characters, or JSON; one document, of at most 262144 bytes as JSON.',
            }),
          })
          .meta({ id: 'PackageFile' }),
      )
      .min(1)
      .max(filesMax),
  })
  .meta({ id: 'PackageSource' });
export type PackageFile = z.output<typeof PackageSource>['files'][number];

/** The kinds of documents that a package may contain, besides its `package.yaml`. */
export const documentKinds = [
  'TaskType',
  'Agent',
  'Calendar',
  'Process',
  'WorkRule',
  'View',
  'Settings',
  'Test',
] as const;
export type DocumentKind = (typeof documentKinds)[number];

/** Kinds whose objects a package creates, changes and retires. */
export const objectKinds = ['TaskType', 'Agent', 'Calendar', 'Process', 'WorkRule', 'View'] as const;
export type ObjectKind = (typeof objectKinds)[number];

const documentKeyMax = 128;
const renamesMax = 1000;

const Rename = z.strictObject({
  kind: z.enum(objectKinds),
  from: z.string().min(1).max(documentKeyMax),
  to: z.string().min(1).max(documentKeyMax),
});
export type Rename = z.output<typeof Rename>;

/** The content of `package.yaml`. */
export const Manifest = z.strictObject({
  key: PackageKey,
  version: z.string().min(1).max(50),
  title: z.string().min(1).max(200).optional(),
  renames: z.array(Rename).max(renamesMax).default([]),
});
export type Manifest = z.output<typeof Manifest>;

/** The content of every file except `package.yaml`. */
export const Envelope = z.strictObject({
  apiVersion: z.literal('baton/v1'),
  kind: z.enum(documentKinds),
  key: z.string().min(1).max(documentKeyMax),
  spec: FreeObject,
});

/** One document of a package; `spec` is the body of its kind's POST without the key, not yet validated. */
export interface PackageDocument extends z.output<typeof Envelope> {
  readonly file: string;
}

/** The problems of a package (docs/reference/packages.md#source). */
export const PackageProblem = z
  .strictObject({
    code: z.string(),
    severity: z.enum(['error', 'warning']),
    path: z.string().describe('A JSON pointer into the document.'),
    file: z.string().optional(),
    line: z.int().optional().describe('The line in the YAML text.'),
    message: z.string(),
    hint: z.string().optional(),
  })
  .meta({ id: 'PackageProblem' });
export type PackageProblem = z.infer<typeof PackageProblem>;
