import { z } from 'zod';
import { queryWordCharactersMax, Timestamp } from '@baton/values/wire';

/**
 * The catalogue package that installed an object; all versions of its key have the same link. Recording and applying a
 * package sets the link, and the store copies it to every version. See docs/reference/packages.md#ownership.
 */
export const PackageLink = z
  .strictObject({
    key: z.string(),
    version: z.string().nullable(),
    installHash: z.string().nullable(),
    installedAt: Timestamp,
  })
  .meta({ id: 'PackageLink' });
export type PackageLink = z.infer<typeof PackageLink>;

/**
 * `?package=`: only objects of this catalogue package.
 */
export const PackageFilter = z
  .string()
  .max(queryWordCharactersMax)
  .optional()
  .describe('Only objects that this package installed.');

/** The maximum number of packages per tenant. */
export const packagesMax = 1000;

export const PackageKey = z
  .string()
  .regex(
    /^[a-z0-9][a-z0-9-]{0,62}$/,
    'must be lower-case letters, digits and -, beginning with a letter or digit',
  );

const PackageVersion = z.string().min(1).max(50);

/** A package, identified by the key and version in its `package.yaml`. See docs/reference/packages.md#source. */
export const PackageName = z
  .strictObject({ key: PackageKey, version: PackageVersion })
  .meta({ id: 'PackageName' });
export type PackageName = z.infer<typeof PackageName>;
