/** Imports a library that is installed next to this file: `import()` resolves packages from this file's folder. */
export const load = (name) => import(name);
