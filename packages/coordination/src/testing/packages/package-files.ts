/** A file with one document of a package. */
export function documentFile(kind: string, key: string, spec: object) {
  return {
    path: `${kind}/${key}.yaml`,
    content: JSON.stringify({ apiVersion: 'baton/v1', kind, key, spec }),
  };
}

/** A package of these files, with its `package.yaml`. */
export function packageFiles(...files: object[]) {
  return { files: [{ path: 'package.yaml', content: 'key: desk\nversion: "1.0"\n' }, ...files] };
}
