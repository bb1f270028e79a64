import { type Expression, type SourceFile, ts } from "./compiler.js";
import type { ts as compiler } from "ts-morph";

/** Names that a module declares, imports and re-exports. */
interface ModuleNames {
  /** Variables that the module declares, except those in destructuring patterns. */
  readonly variables: ReadonlyMap<string, compiler.VariableDeclaration>;
  /** Imported names; for each one the module, and the name in that module. */
  readonly imports: ReadonlyMap<string, { readonly from: string; readonly name: string }>;
  readonly defaultExport: Expression | undefined;
  /** The module's `export { … }` and `export … from` declarations, in order. */
  readonly passedOn: readonly PassedOn[];
}

/** An `export { … }` or `export … from` declaration. */
interface PassedOn {
  /** Module from which names are re-exported; undefined if the declaration exports names of its own module. */
  readonly from: string | undefined;
  /** Local names, by exported name; undefined if all names of `from` are exported. */
  readonly names: ReadonlyMap<string, string> | undefined;
}

const known = new WeakMap<SourceFile, ModuleNames>();

export function moduleNamesOf(file: SourceFile): ModuleNames {
  const names = known.get(file) ?? findNames(file);
  known.set(file, names);
  return names;
}

function findNames(file: SourceFile): ModuleNames {
  const variables = new Map<string, compiler.VariableDeclaration>();
  const imports = new Map<string, { readonly from: string; readonly name: string }>();
  const passedOn: PassedOn[] = [];
  let defaultExport: Expression | undefined;
  for (const statement of file.statements) {
    if (ts.isVariableStatement(statement)) {
      for (const declaration of statement.declarationList.declarations) {
        if (ts.isIdentifier(declaration.name)) variables.set(declaration.name.text, declaration);
      }
    } else if (ts.isImportDeclaration(statement)) {
      for (const [local, name] of importedNames(statement)) imports.set(local, { from: specifierOf(statement), name });
    } else if (ts.isExportDeclaration(statement)) {
      const { exportClause } = statement;
      // `export * as name` exports one object, whose properties are not searched.
      if (exportClause !== undefined && !ts.isNamedExports(exportClause)) continue;
      const names = exportClause?.elements.map(({ name, propertyName }): [string, string] => [
        name.text,
        (propertyName ?? name).text,
      ]);
      const from = statement.moduleSpecifier === undefined ? undefined : specifierOf(statement);
      passedOn.push({ from, names: names && new Map(names) });
    } else if (ts.isExportAssignment(statement) && statement.isExportEquals !== true) {
      defaultExport ??= statement.expression;
    }
  }
  return { variables, imports, defaultExport, passedOn };
}

function importedNames({ importClause }: compiler.ImportDeclaration): [local: string, name: string][] {
  const { name, namedBindings } = importClause ?? {};
  const named = namedBindings !== undefined && ts.isNamedImports(namedBindings) ? namedBindings.elements : [];
  return [
    ...(name === undefined ? [] : [[name.text, "default"] as [string, string]]),
    ...named.map((each): [string, string] => [each.name.text, (each.propertyName ?? each.name).text]),
  ];
}

function specifierOf({ moduleSpecifier }: compiler.ImportDeclaration | compiler.ExportDeclaration): string {
  return moduleSpecifier !== undefined && ts.isStringLiteral(moduleSpecifier) ? moduleSpecifier.text : "";
}
