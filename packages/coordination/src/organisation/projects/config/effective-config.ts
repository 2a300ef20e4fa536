import { z } from 'zod';
import { FreeObject, type Json, type JsonObject, Uuid } from '@baton/values/wire';
import { type Governance, meetOf } from './governance.ts';
import type { Layer } from './layer.ts';
import { mergeValues } from './merge.ts';

/** Where a value comes from: a project and one of its layers. */
export const ConfigOrigin = z
  .strictObject({
    source: z.enum(['template', 'ancestor', 'revision', 'profile']),
    projectId: Uuid.nullable().meta({ description: '`null` for an ancestor that the caller may not see.' }),
    layer: z.enum(['template', 'revision', 'profile']).meta({ description: 'The layer of that project.' }),
    templateKey: z.string().nullable().meta({ description: 'Set when the layer is a template.' }),
    templateVersion: z.int().nullable(),
    revision: z.int().nullable().meta({ description: 'Set when the layer is a revision.' }),
  })
  .meta({ id: 'ConfigOrigin' });
export type ConfigOrigin = z.infer<typeof ConfigOrigin>;

const origins = z.record(z.string(), ConfigOrigin);

/**
 * The effective configuration of a project and the origin of each value. See
 * docs/reference/projects.md#effective-configuration.
 */
export const EffectiveConfig = z
  .strictObject({
    projectId: Uuid,
    version: z.int().meta({ description: 'Version of the project.' }),
    config: z.strictObject({
      settings: FreeObject,
      views: z.array(z.unknown()),
      governance: FreeObject,
      memory: FreeObject,
      inheritance: z.strictObject({
        inheritableSettings: z.array(z.string()),
        lockedSettings: z.array(z.string()),
      }),
    }),
    provenance: z.strictObject({
      settings: origins,
      memory: origins,
      governance: origins,
      views: ConfigOrigin.nullable(),
      layers: z.array(
        z.strictObject({
          projectId: Uuid.nullable(),
          templateId: Uuid,
          templateKey: z.string(),
          templateVersion: z.int(),
          revision: z.int().nullable(),
          depth: z.int().meta({ description: '0 for the topmost project.' }),
        }),
      ),
      lockedSettings: z.array(z.string()),
    }),
  })
  .meta({ id: 'EffectiveConfig' });
export type EffectiveConfig = z.infer<typeof EffectiveConfig>;

interface Sourced<Value> {
  readonly value: Value;
  readonly from: { readonly layer: ConfigOrigin['layer']; readonly of: Layer };
}
type Values = ReadonlyMap<string, Sourced<Json>>;

/** The effective configuration of one project and what its descendants inherit. */
export interface Effective {
  readonly settings: Values;
  readonly memory: Values;
  readonly governance: Values;
  readonly views: Sourced<Json[]> | undefined;
  readonly inheritable: readonly string[];
  /** Settings that descendants can't set. */
  readonly locked: ReadonlySet<string>;
}

const nothing: Effective = {
  settings: new Map(),
  memory: new Map(),
  governance: new Map(),
  views: undefined,
  inheritable: ['*'],
  locked: new Set(),
};

/** @param chain the projects from the root down */
export function foldLayers(chain: readonly Layer[]): Effective {
  return chain.reduce(underneath, nothing);
}

/** Applies one project to the configuration inherited from its ancestors. */
function underneath(above: Effective, of: Layer): Effective {
  const { template, revision, profile } = of;
  const layer = (name: ConfigOrigin['layer'], values: JsonObject | undefined): Values =>
    new Map(Object.entries(values ?? {}).map(([key, value]) => [key, { value, from: { layer: name, of } }]));
  const unlocked = (values: Values): Values => new Map([...values].filter(([key]) => !above.locked.has(key)));
  const inherited = new Map(
    [...above.settings].filter(([key]) => above.inheritable.includes('*') || above.inheritable.includes(key)),
  );
  const viewsOf = (name: ConfigOrigin['layer'], views: Json[] | undefined) =>
    views === undefined ? undefined : { value: views, from: { layer: name, of } };
  return {
    settings: [
      layer('template', template.settings),
      inherited,
      unlocked(layer('revision', revision?.settings)),
      unlocked(layer('profile', profile)),
    ].reduce(overlaid),
    memory: [layer('template', template.memory), above.memory, layer('revision', revision?.memory)].reduce(
      overlaid,
    ),
    governance: [
      above.governance,
      layer('template', template.governance),
      layer('revision', revision?.governance),
    ].reduce(met),
    views: viewsOf('revision', revision?.views) ?? above.views ?? viewsOf('template', template.views),
    inheritable: revision?.inheritance?.inheritableSettings ??
      template.inheritance?.inheritableSettings ?? ['*'],
    locked: new Set([
      ...above.locked,
      ...(revision?.inheritance?.lockedSettings ?? template.inheritance?.lockedSettings ?? []),
    ]),
  };
}

/** Objects are merged deeply; other values are replaced. */
function overlaid(below: Values, over: Values): Values {
  const merged = new Map(below);
  for (const [key, { value, from }] of over) {
    const known = merged.get(key);
    merged.set(key, { value: known === undefined ? value : mergeValues(known.value, value), from });
  }
  return merged;
}

/** The stricter value takes effect, and its origin is the first layer that sets it. */
function met(above: Values, below: Values): Values {
  const merged = new Map(above);
  for (const [key, own] of below) {
    const known = merged.get(key);
    const value = known === undefined ? own.value : meetOf(key, known.value, own.value);
    const isNarrowed = known === undefined || JSON.stringify(value) !== JSON.stringify(known.value);
    if (isNarrowed) merged.set(key, { value, from: own.from });
  }
  return merged;
}

export function governanceOf({ governance }: Effective): Governance {
  return plain(governance);
}

function plain(values: Values): JsonObject {
  return Object.fromEntries([...values].map(([key, { value }]) => [key, value]));
}

/** @param chain the projects from the root down to the requested one */
export function effectiveConfigOf(chain: readonly Layer[]): EffectiveConfig {
  const own = chain.at(-1) as Layer;
  const { settings, memory, governance, views, inheritable, locked } = foldLayers(chain);
  const lockedSettings = [...locked].sort();
  const originOf = ({ from }: Sourced<unknown>) => describe(from, own);
  const originsOf = (values: Values) =>
    Object.fromEntries([...values].map(([key, value]) => [key, originOf(value)]));
  return {
    projectId: own.projectId,
    version: own.version,
    config: {
      settings: plain(settings),
      views: views?.value ?? [],
      governance: plain(governance),
      memory: plain(memory),
      inheritance: { inheritableSettings: [...inheritable], lockedSettings },
    },
    provenance: {
      settings: originsOf(settings),
      memory: originsOf(memory),
      governance: originsOf(governance),
      views: views === undefined ? null : originOf(views),
      layers: chain.map(
        ({ projectId, isSeen, templateId, templateKey, templateVersion, revisionNumber }, depth) => ({
          projectId: isSeen ? projectId : null,
          templateId,
          templateKey,
          templateVersion,
          revision: revisionNumber,
          depth,
        }),
      ),
      lockedSettings,
    },
  };
}

function describe({ layer, of }: Sourced<unknown>['from'], own: Layer): ConfigOrigin {
  const isTemplate = layer === 'template';
  return {
    source: of === own ? layer : 'ancestor',
    projectId: of.isSeen ? of.projectId : null,
    layer,
    templateKey: isTemplate ? of.templateKey : null,
    templateVersion: isTemplate ? of.templateVersion : null,
    revision: layer === 'revision' ? of.revisionNumber : null,
  };
}
