import type { Json, JsonObject } from '@baton/values/wire';
import type { ConfigDocument } from './config-document.ts';
import { mergeObjects } from './merge.ts';

/** What one project contributes to the configuration. */
export interface Layer {
  readonly projectId: string;
  readonly workspaceId: string;
  readonly version: number;
  readonly status: 'active' | 'archived';
  readonly templateId: string;
  readonly templateKey: string;
  readonly templateVersion: number;
  readonly template: ConfigDocument;
  readonly revisionId: string | null;
  readonly revisionNumber: number | null;
  /** The active revision. */
  readonly revision: ConfigDocument | undefined;
  readonly profile: JsonObject;
  /** Whether the caller may see the project. */
  readonly isSeen: boolean;
}

export interface LayerRow {
  project_id: string;
  workspace_id: string;
  version: number;
  status: 'active' | 'archived';
  template_id: string;
  template_key: string;
  template_version: number;
  default_config: ConfigDocument;
  default_views: Json[];
  memory_defaults: JsonObject;
  revision_id: string | null;
  revision: number | null;
  config: ConfigDocument | null;
  settings: JsonObject;
  is_seen: boolean;
}

export function layerOf(row: LayerRow): Layer {
  return {
    projectId: row.project_id,
    workspaceId: row.workspace_id,
    version: row.version,
    status: row.status,
    templateId: row.template_id,
    templateKey: row.template_key,
    templateVersion: row.template_version,
    template: templateLayer(row.default_config, row.default_views, row.memory_defaults),
    revisionId: row.revision_id,
    revisionNumber: row.revision,
    revision: row.config ?? undefined,
    profile: row.settings,
    isSeen: row.is_seen,
  };
}

/** The views and memory of a template apply unless its default configuration has its own. */
function templateLayer(config: ConfigDocument, views: Json[], memory: JsonObject): ConfigDocument {
  const declaresViews = config.views === undefined && views.length > 0;
  return {
    ...config,
    memory: mergeObjects(memory, config.memory ?? {}),
    ...(declaresViews && { views }),
  };
}
