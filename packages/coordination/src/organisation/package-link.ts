import { z } from 'zod';
import { queryWordCharactersMax, Timestamp } from '@baton/values/wire';

/**
 * Which catalogue package an object came with (organisation, section 1.4): all versions of its key have the same link. It is
 * written by what records and applies packages; the store gives it to every version.
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

/** `?package=`: only objects of this catalogue package. */
export const PackageFilter = z
  .string()
  .max(queryWordCharactersMax)
  .optional()
  .describe('Only what this package has installed.');

/** Packages of a tenant at most. */
export const packagesMax = 1000;

export const PackageKey = z
  .string()
  .regex(
    /^[a-z0-9][a-z0-9-]{0,62}$/,
    'must be lower-case letters, digits and -, beginning with a letter or digit',
  );

const PackageVersion = z.string().min(1).max(50);

/** A package by its key and version, as its `package.yaml` names it (organisation, section 14.1). */
export const PackageName = z
  .strictObject({ key: PackageKey, version: PackageVersion })
  .meta({ id: 'PackageName' });
export type PackageName = z.infer<typeof PackageName>;
