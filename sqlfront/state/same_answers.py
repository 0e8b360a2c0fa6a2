"""The settings of Spark that affect answers, with the values under which sqlfront and Spark give the same
answers."""

from collections.abc import Mapping
from typing import Final

#: Settings whose default may differ on the session's machine.
FIRST: Final[Mapping[str, str]] = {"spark.sql.ansi.enabled": "true", "spark.sql.caseSensitive": "false"}
#: All other settings, with their defaults.
OTHERS: Final[Mapping[str, str]] = {
    # how a text is read
    "spark.sql.ansi.doubleQuotedIdentifiers": "false",
    "spark.sql.ansi.relationPrecedence": "false",
    "spark.sql.groupByAliases": "true",
    "spark.sql.groupByOrdinal": "true",
    "spark.sql.lateralColumnAlias.enableImplicitResolution": "true",
    "spark.sql.legacy.consecutiveStringLiterals.enabled": "false",
    "spark.sql.legacy.ctePrecedencePolicy": "CORRECTED",
    "spark.sql.legacy.duplicateBetweenInput": "false",
    "spark.sql.legacy.exponentLiteralAsDecimal.enabled": "false",
    "spark.sql.legacy.interval.enabled": "false",
    "spark.sql.legacy.parser.havingWithoutGroupByAsWhere": "false",
    "spark.sql.legacy.setopsPrecedence.enabled": "false",
    "spark.sql.orderByOrdinal": "true",
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.parser.quotedRegexColumnNames": "false",
    "spark.sql.stableDerivedColumnAlias.enabled": "false",
    # types
    "spark.sql.decimalOperations.allowPrecisionLoss": "true",
    "spark.sql.function.concatBinaryAsString": "false",
    "spark.sql.function.eltOutputAsString": "false",
    "spark.sql.legacy.allowNegativeScaleOfDecimal": "false",
    "spark.sql.legacy.createEmptyCollectionUsingStringType": "false",
    "spark.sql.legacy.decimal.retainFractionDigitsOnTruncate": "false",
    "spark.sql.legacy.integerGroupingId": "false",
    "spark.sql.legacy.literal.pickMinimumPrecision": "true",
    "spark.sql.legacy.lpadRpadAlwaysReturnString": "false",
    "spark.sql.preserveCharVarcharTypeInfo": "false",
    "spark.sql.storeAssignmentPolicy": "ANSI",
    "spark.sql.timestampType": "TIMESTAMP_LTZ",
    # values
    "spark.sql.jsonGenerator.ignoreNullFields": "true",
    "spark.sql.crossJoin.enabled": "true",
    "spark.sql.legacy.allowParameterlessCount": "false",
    "spark.sql.legacy.allowStarWithSingleTableIdentifierInCount": "false",
    "spark.sql.legacy.allowZeroIndexInFormatString": "false",
    "spark.sql.legacy.castComplexTypesToString.enabled": "false",
    "spark.sql.legacy.codingErrorAction": "false",
    "spark.sql.legacy.disableMapKeyNormalization": "false",
    "spark.sql.legacy.followThreeValuedLogicInArrayExists": "true",
    "spark.sql.legacy.javaCharsets": "false",
    "spark.sql.legacy.negativeIndexInArrayInsert": "false",
    "spark.sql.legacy.nullInEmptyListBehavior": "false",
    "spark.sql.legacy.percentileDiscCalculation": "false",
    "spark.sql.legacy.scalarSubqueryCountBugBehavior": "false",
    "spark.sql.legacy.statisticalAggregate": "false",
    "spark.sql.legacy.timeParserPolicy": "CORRECTED",
    "spark.sql.mapKeyDedupPolicy": "EXCEPTION",
    # files (settings that ignore broken files are not listed: reading such files fails here, and Spark does
    # it)
    "spark.sql.columnNameOfCorruptRecord": "_corrupt_record",
    "spark.sql.orc.mergeSchema": "false",
    "spark.sql.parquet.binaryAsString": "false",
    "spark.sql.parquet.fieldId.read.enabled": "false",
    "spark.sql.parquet.inferTimestampNTZ.enabled": "true",
    "spark.sql.parquet.int96AsTimestamp": "true",
    "spark.sql.parquet.int96TimestampConversion": "false",
    "spark.sql.parquet.mergeSchema": "false",
    "spark.sql.parquet.respectSummaryFiles": "false",
    "spark.sql.sources.partitionColumnTypeInference.enabled": "true",
}
#: Beginnings of the names of settings that say how Spark plans and runs a query: none has an effect on rows.
WITHOUT_EFFECT: Final = (
    "spark.sql.adaptive.",
    "spark.sql.autoBroadcastJoinThreshold",
    "spark.sql.broadcastTimeout",
    "spark.sql.cbo.",
    "spark.sql.codegen.",
    "spark.sql.debug.",
    "spark.sql.exchange.",
    "spark.sql.execution.arrow.",
    "spark.sql.execution.sortBeforeRepartition",
    "spark.sql.execution.topKSortFallbackThreshold",
    "spark.sql.execution.useObjectHashAggregateExec",
    "spark.sql.files.maxPartition",
    "spark.sql.files.minPartition",
    "spark.sql.files.openCostInBytes",
    "spark.sql.inMemoryColumnarStorage.",
    "spark.sql.join.",
    "spark.sql.leafNodeDefaultParallelism",
    "spark.sql.maxPlanStringLength",
    "spark.sql.objectHashAggregate.",
    "spark.sql.optimizer.",
    "spark.sql.orc.enableVectorizedReader",
    "spark.sql.orc.filterPushdown",
    "spark.sql.parquet.aggregatePushdown",
    "spark.sql.parquet.columnarReaderBatchSize",
    "spark.sql.parquet.enableVectorizedReader",
    "spark.sql.parquet.filterPushdown",
    "spark.sql.shuffle.",
    "spark.sql.sources.bucketing.",
    "spark.sql.sources.parallelPartitionDiscovery.",
    "spark.sql.statistics.",
    "spark.sql.subexpressionElimination.",
    "spark.sql.ui.",
)
#: Settings of Spark SQL that can't be changed in a session.
STATIC: Final = frozenset(
    """
    spark.sql.broadcastExchange.maxThreadThreshold spark.sql.cache.serializer spark.sql.catalogImplementation
    spark.sql.codegen.cache.maxEntries spark.sql.codegen.comments spark.sql.debug
    spark.sql.defaultUrlStreamHandlerFactory.enabled spark.sql.event.truncate.length spark.sql.extensions
    spark.sql.filesourceTableRelationCacheSize spark.sql.globalTempDatabase
    spark.sql.hive.thriftServer.singleSession spark.sql.legacy.sessionInitWithConfigDefaults
    spark.sql.metadataCacheTTLSeconds spark.sql.queryExecutionListeners
    spark.sql.resultQueryStage.maxThreadThreshold spark.sql.sources.disabledJdbcConnProviderList
    spark.sql.sources.schemaStringLengthThreshold spark.sql.streaming.streamingQueryListeners
    spark.sql.streaming.ui.enabled spark.sql.streaming.ui.retainedProgressUpdates
    spark.sql.streaming.ui.retainedQueries spark.sql.subquery.maxThreadThreshold
    spark.sql.ui.retainedExecutions spark.sql.warehouse.dir
    """.split()  # noqa: SIM905 - as a list it would fill a page
)


def first_other(settings: Mapping[str, str]) -> str | None:
    """Return in words the first setting whose value makes Spark's answers differ from sqlfront's, such as
    "spark.sql.ansi.enabled is false"; None if no setting does. A setting that ``settings`` lacks has its
    default value.

    >>> first_other({"spark.sql.ansi.enabled": "false", "spark.sql.mapKeyDedupPolicy": "exception"})
    'spark.sql.ansi.enabled is false'
    """
    for defaults in (FIRST, OTHERS):
        for key, default in defaults.items():
            if settings.get(key, default).lower() != default.lower():
                return f"{key} is {settings[key]}"
    return None
