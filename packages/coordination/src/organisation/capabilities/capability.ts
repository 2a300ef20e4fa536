import { z } from 'zod';
import { type RowOf, wireMapper } from '@baton/kernel/database/row';
import { Description, DisplayName } from '@baton/values/keys';
import { Timestamp, Uuid } from '@baton/values/wire';
import type { Tables } from '../../service/schema.ts';
import { PackageLink } from '../package-link.ts';

/**
 * An ability of a principal, named in the tenant's own vocabulary. It grants no permission. See
 * docs/reference/skills.md#capabilities.
 */
export const Capability = z
  .strictObject({
    id: Uuid,
    tenantId: Uuid,
    name: z.string(),
    description: z.string(),
    version: z.int().positive(),
    createdAt: Timestamp,
    updatedAt: Timestamp,
    package: PackageLink.nullable(),
  })
  .meta({ id: 'Capability' });
export type Capability = z.infer<typeof Capability>;

export const CapabilityRequest = z
  .strictObject({ name: DisplayName, description: Description.default('') })
  .meta({ id: 'CapabilityRequest' });
export type CapabilityRequest = z.output<typeof CapabilityRequest>;

export const CapabilityChange = z
  .strictObject({ name: DisplayName.nullish(), description: Description.nullish() })
  .meta({ id: 'CapabilityChange' });
export type CapabilityChange = z.output<typeof CapabilityChange>;

export type CapabilityRow = RowOf<Tables['capabilities'], { package: PackageLink | null }>;

export const capabilityOf = wireMapper<CapabilityRow>()(Capability, {});
